//! Arrays of the crate `ndarray`, in both directions.

use forerun::{Array, DType};
use ndarray::{ArrayD, array, s};

#[test]
fn elements_and_shapes_survive() {
    let theirs = array![[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let ours = Array::from(&theirs);
    assert_eq!((ours.shape().to_vec(), ours.dtype()), (vec![2, 3], DType::F32));
    assert_eq!(ArrayD::<f32>::try_from(&(&ours + 1)).unwrap(), (theirs.clone() + 1.0).into_dyn());
    // Views of both, neither of which is dense.
    assert_eq!(Array::from(&theirs.slice(s![.., ..;2])).to_vec::<f32>().unwrap(), [1.0, 3.0, 4.0, 6.0]);
    assert_eq!(ArrayD::<f64>::try_from(&ours.t()).unwrap(), theirs.t().mapv(f64::from).into_dyn());
    assert!(ArrayD::<i32>::try_from(&ours).is_err());
}
