//! Tables of library functions: each row has a field name, the symbol, and the C signature.

/// Declares the struct and its loader. A missing symbol is an error that names it.
macro_rules! table {
    ($(#[$doc:meta])* $table:ident {
        $($name:ident = $symbol:literal($($arg:ident: $type:ty),* $(,)?);)*
    }) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) struct $table {
            $(pub(crate) $name: unsafe extern "C" fn($($arg: $type),*) -> std::ffi::c_int,)*
        }

        impl $table {
            fn fill(library: &crate::sys::library::Library) -> std::result::Result<$table, String> {
                Ok($table {
                    $($name: {
                        let address = library.symbol(concat!($symbol, "\0"))?;
                        // SAFETY: the row has the signature that the library documents for the symbol.
                        unsafe {
                            std::mem::transmute::<
                                *mut std::ffi::c_void,
                                unsafe extern "C" fn($($arg: $type),*) -> std::ffi::c_int,
                            >(address)
                        }
                    },)*
                })
            }
        }
    };
}

pub(crate) use table;
