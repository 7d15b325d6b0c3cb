pub(crate) mod cuda;
