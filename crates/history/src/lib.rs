//! What happened: operations, histories and the file formats that record them.
