//! Macros that declare tables.

/// Declares tables and adds them to [`TABLES`].
///
/// Documentation of a table and of its columns is also the documentation of the row type and of its fields, and becomes
/// docs/reference. A column's type follows from its field's type, its unit from the end of its name. Entries, from left
/// to right in the table:
///
/// - `pub flow: u32`: a field, and a column of this name
/// - `pub time: Nanos as time_ns`: a field, and a column of another name
/// - `share: Share = |row| row.share()`: a column that is computed from the row
/// - `pub end: Nanos as _`: a field without a column
///
/// Behind the file's name, `counted` says that a record computes more of the rows than the table, or that it makes the
/// rows itself.
macro_rules! tables {
    ($(
        $(#[doc = $about:literal])+
        #[derive($($derive:ident),+)]
        pub struct $row:ident $(<$life:lifetime>)? in $file:literal $(, $counted:ident)? { $($entries:tt)+ }
    )+) => {
        /// The tables of this file.
        pub(super) const ALL: &[$crate::tables::Table] = &[$($crate::tables::Table::new::<$row>()),+];
        $(recorded!(($($counted)?) $row $(<$life>)?);)+
        $(row! {
            {
                $(#[doc = $about])+
                #[derive($($derive),+)]
            }
            ($row $(<$life>)?)
            ($file, concat!($($about),+))
            (row fields)
            {} {} {}
            $($entries)+
        })+
    };
}

/// Lets a record write the rows of a table, if that is all that it does with them.
macro_rules! recorded {
    (() $row:ident $(<$life:lifetime>)?) => {
        impl $(<$life>)? $crate::record::Recorded for $row $(<$life>)? {}
    };
    ((counted) $($row:tt)+) => {};
}

/// Takes the entries of a table one by one, and makes of them the fields of its row type, its columns, and the
/// statements that write a row.
macro_rules! row {
    (
        $head:tt $row:tt $table:tt ($this:ident $out:ident)
        {$($fields:tt)*} {$($columns:tt)*} {$($values:tt)*}
        $(#[doc = $about:literal])+
        pub $field:ident: $kind:ty as _,
        $($rest:tt)*
    ) => {
        row! {
            $head $row $table ($this $out)
            {$($fields)* $(#[doc = $about])+ pub $field: $kind,} {$($columns)*} {$($values)*}
            $($rest)*
        }
    };
    (
        $head:tt $row:tt $table:tt ($this:ident $out:ident)
        {$($fields:tt)*} {$($columns:tt)*} {$($values:tt)*}
        $(#[doc = $about:literal])+
        pub $field:ident: $kind:ty as $column:ident,
        $($rest:tt)*
    ) => {
        row! {
            $head $row $table ($this $out)
            {$($fields)* $(#[doc = $about])+ pub $field: $kind,}
            {$($columns)* $crate::tables::column::<$kind>(stringify!($column), concat!($($about),+)),}
            {$($values)* $out.add(&$this.$field);}
            $($rest)*
        }
    };
    (
        $head:tt $row:tt $table:tt ($this:ident $out:ident) $fields:tt $columns:tt $values:tt
        $(#[doc = $about:literal])+
        pub $field:ident: $kind:ty,
        $($rest:tt)*
    ) => {
        row! {
            $head $row $table ($this $out) $fields $columns $values
            $(#[doc = $about])+
            pub $field: $kind as $field,
            $($rest)*
        }
    };
    (
        $head:tt $row:tt $table:tt ($this:ident $out:ident) $fields:tt
        {$($columns:tt)*} {$($values:tt)*}
        $(#[doc = $about:literal])+
        $column:ident: $kind:ty = |$of:ident| $value:expr,
        $($rest:tt)*
    ) => {
        row! {
            $head $row $table ($this $out) $fields
            {$($columns)* $crate::tables::column::<$kind>(stringify!($column), concat!($($about),+)),}
            {
                $($values)*
                let $of = $this;
                let value: $kind = $value;
                $out.add(&value);
            }
            $($rest)*
        }
    };
    (
        {$($head:tt)*} ($row:ident $(<$life:lifetime>)?) ($file:literal, $about:expr)
        ($this:ident $out:ident) {$($fields:tt)*} {$($columns:tt)*} {$($values:tt)*}
    ) => {
        $($head)*
        pub struct $row $(<$life>)? {
            $($fields)*
        }

        impl $(<$life>)? $crate::row::Row for $row $(<$life>)? {
            const FILE: &'static str = $file;
            const ABOUT: &'static str = $crate::tables::text($about);
            const COLUMNS: &'static [$crate::column::Column<'static>] = &[$($columns)*];

            fn fields(&self, $out: &mut impl $crate::row::Fields) {
                let $this = self;
                $($values)*
            }
        }
    };
}

/// Types whose names are texts of tables.
macro_rules! names {
    ($($kind:ty),+) => {$(
        impl $crate::row::Value for $kind {
            const KIND: $crate::column::ColumnType = $crate::column::ColumnType::Text;

            #[inline]
            fn field(&self) -> $crate::row::Field<'_> {
                $crate::row::Field::Text(self.name())
            }
        }
    )+};
}
