//! Arrays from slices of the program's own memory, and back to bytes.

#![cfg(not(loom))]

use forerun_array::{Index, ops};
use forerun_base::{DType, ErrorKind, Loc};

fn loc() -> Loc {
    Loc::caller()
}

#[test]
fn slices_of_every_dtype_come_back_as_bytes() {
    let x = ops::from_slice(&[1.5f32, -2.0], &[2], loc()).unwrap();
    assert_eq!((x.dtype(), x.to_vec::<f64>().unwrap()), (DType::F32, vec![1.5, -2.0]));
    assert_eq!(x.snapshot().unwrap().to_bytes(), [1.5f32.to_le_bytes(), (-2.0f32).to_le_bytes()].concat());
    let x = ops::from_slice(&[7i64], &[], loc()).unwrap();
    assert_eq!(x.snapshot().unwrap().to_bytes(), 7i64.to_le_bytes());
    let x = ops::from_slice(&[1i32, 2, 3], &[3], loc()).unwrap();
    assert_eq!((x.dtype(), x.to_vec::<f64>().unwrap()), (DType::I32, vec![1.0, 2.0, 3.0]));
    let x = ops::from_slice(&[true, false], &[2], loc()).unwrap();
    assert_eq!((x.dtype(), x.snapshot().unwrap().to_bytes()), (DType::Bool, vec![1, 0]));
    let x = ops::from_slice::<f64>(&[], &[0, 3], loc()).unwrap();
    assert_eq!(x.snapshot().unwrap().to_bytes(), [0u8; 0]);
}

#[test]
fn views_give_their_elements_in_their_own_order() {
    let x = ops::from_slice(&[0i32, 1, 2, 3, 4, 5], &[2, 3], loc()).unwrap();
    let bytes = |numbers: [i32; 3]| numbers.map(i32::to_le_bytes).concat();
    let row = ops::index(&x, &[Index::At(1)]).unwrap();
    assert_eq!(row.snapshot().unwrap().to_bytes(), bytes([3, 4, 5]));
    let back = ops::index(&x, &[Index::At(0), Index::Slice { start: None, stop: None, step: -1 }]).unwrap();
    assert_eq!(back.snapshot().unwrap().to_bytes(), bytes([2, 1, 0]));
}

#[test]
fn bytes_become_arrays_at_any_alignment() {
    let mut bytes = vec![0u8];
    bytes.extend([1.0f64, 2.5].map(f64::to_le_bytes).concat());
    let x = ops::from_bytes(&bytes[1..], DType::F64, &[2, 1], loc()).unwrap();
    assert_eq!(x.to_vec::<f64>().unwrap(), [1.0, 2.5]);
}

#[test]
fn a_wrong_number_of_elements_is_an_error() {
    let error = ops::from_slice(&[1.0f32; 5], &[2, 3], loc()).err().unwrap();
    assert_eq!(error.to_string(), "array: 5 numbers do not fill an array of shape (2, 3)");
    let error = ops::from_bytes(&[0; 7], DType::F32, &[2], loc()).err().unwrap();
    assert_eq!(error.to_string(), "array: 7 bytes do not fill an array of shape (2,) and dtype float32");
    let error = ops::from_bytes(&[2], DType::Bool, &[1], loc()).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Value);
    assert!(ops::from_slice::<f32>(&[], &[usize::MAX, 2], loc()).is_err());
}
