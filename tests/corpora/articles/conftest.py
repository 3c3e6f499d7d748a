"""Files that tests of one module read."""

import pytest


@pytest.fixture
def write(request, tmp_path):
    """Function that writes a file, which is called as the module's NAME unless told otherwise."""

    def write(content, name=request.module.NAME):
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return tmp_path / name

    return write
