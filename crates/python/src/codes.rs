//! NumPy's other names of dtypes: characters, codes of kind and size, and the names of C types.

use forerun::{DType, Kind};

/// NumPy's character code of a dtype.
pub(crate) const fn letter(dtype: DType) -> char {
    match dtype {
        DType::Bool => '?',
        DType::I8 => 'b',
        DType::I16 => 'h',
        DType::I32 => 'i',
        DType::I64 => 'l',
        DType::U8 => 'B',
        DType::U16 => 'H',
        DType::U32 => 'I',
        DType::U64 => 'L',
        DType::F16 => 'e',
        DType::BF16 => 'E',
        DType::F32 => 'f',
        DType::F64 => 'd',
        DType::C64 => 'F',
        DType::C128 => 'D',
    }
}

/// NumPy's character for the kind of a dtype.
pub(crate) const fn kind(dtype: DType) -> char {
    match dtype.kind() {
        Kind::Bool => 'b',
        Kind::Int if dtype.is_unsigned() => 'u',
        Kind::Int => 'i',
        Kind::Float => 'f',
        Kind::Complex => 'c',
    }
}

/// Parses a code: a character, or byte order, kind and size. Only the machine's byte order is supported.
pub(crate) fn read(code: &str) -> Option<DType> {
    let (order, rest) = match code.as_bytes().first()? {
        b'<' | b'=' | b'|' | b'>' => code.split_at(1),
        _ => ("", code),
    };
    let mut letters = rest.chars();
    let first = letters.next()?;
    let found = if letters.as_str().is_empty() {
        match first {
            'q' | 'n' | 'p' => Some(DType::I64),
            'Q' | 'N' | 'P' => Some(DType::U64),
            _ => DType::ALL.into_iter().find(|dtype| letter(*dtype) == first),
        }
    } else {
        let size: usize = letters.as_str().parse().ok()?;
        // Two floats have two bytes; the code means IEEE half precision.
        DType::ALL.into_iter().find(|dtype| kind(*dtype) == first && dtype.size() == size)
    };
    found.filter(|dtype| order != ">" || dtype.size() == 1)
}

/// The dtype of a Python type name, or of a C type name that NumPy uses.
pub(crate) fn other_name(name: &str) -> Option<DType> {
    Some(match name {
        "float" | "double" => DType::F64,
        "int" | "int_" | "intp" | "long" | "longlong" => DType::DEFAULT_INT,
        "complex" | "cdouble" => DType::C128,
        "bool_" => DType::Bool,
        "half" => DType::F16,
        "single" => DType::F32,
        "csingle" => DType::C64,
        "uint" | "uintp" | "ulong" | "ulonglong" => DType::U64,
        "byte" => DType::I8,
        "ubyte" => DType::U8,
        "short" => DType::I16,
        "ushort" => DType::U16,
        "intc" => DType::I32,
        "uintc" => DType::U32,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_every_dtype_are_read() {
        for dtype in DType::ALL {
            assert_eq!(read(&letter(dtype).to_string()), Some(dtype));
            let code = format!("{}{}", kind(dtype), dtype.size());
            assert_eq!(read(&code), Some(if dtype == DType::BF16 { DType::F16 } else { dtype }), "{code}");
        }
    }

    #[test]
    fn other_byte_orders_and_sizes_are_not() {
        assert_eq!(read("<f4"), Some(DType::F32));
        assert_eq!(read("|u1"), Some(DType::U8));
        assert_eq!(read(">f4"), None);
        assert_eq!(read("f16"), None);
        assert_eq!(read("O"), None);
        assert_eq!(read(""), None);
    }
}
