"""All builders, by how often each kind is drawn."""

from . import ops_elementwise, ops_library, ops_move, ops_reduce, ops_transform

TABLE = [
    *3 * ops_elementwise.TABLE, *2 * ops_reduce.TABLE, *2 * ops_move.TABLE, *ops_library.TABLE, *ops_transform.TABLE,
]
