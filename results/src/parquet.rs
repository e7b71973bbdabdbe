//! Tables as Apache Parquet: typed columns.

#[cfg(not(feature = "parquet"))]
mod left_out;
#[cfg(feature = "parquet")]
mod rows;
#[cfg(feature = "parquet")]
mod table;

#[cfg(not(feature = "parquet"))]
pub use left_out::{ParquetRows, ParquetTable};
#[cfg(feature = "parquet")]
pub use rows::ParquetRows;
#[cfg(feature = "parquet")]
pub use table::ParquetTable;
