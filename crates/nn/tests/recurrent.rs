//! Recurrent layers: shapes, names, and their gradients against finite differences.

mod common;

use common::{array, check_gradients, doubles, failure, numbers};
use forerun_base::DType;
use forerun_nn::{Layer, Recurrent, RecurrentBegin};

fn networks() -> Vec<Recurrent> {
    vec![
        Recurrent::tanh(3).layers(2),
        Recurrent::relu(2),
        Recurrent::lstm(2).layers(2).bidirectional(),
        Recurrent::lstm(3).projection(2),
        Recurrent::gru(3).bidirectional(),
    ]
}

#[test]
fn shapes_and_names() {
    let net = Recurrent::lstm(4).layers(2).bidirectional().projection(3);
    let x = array(&[0.5; 30], &[5, 2, 3]);
    let (y, states) = net.forward_from(&x, RecurrentBegin::default()).unwrap();
    assert_eq!(*y.shape(), [5, 2, 6]);
    assert_eq!(*states.state.shape(), [4, 2, 3]);
    assert_eq!(*states.cell.unwrap().shape(), [4, 2, 4]);
    let names: Vec<String> = net.parameters().iter().map(|p| p.name().to_owned()).collect();
    assert_eq!(
        names[..6],
        ["l0_i2h_weight", "l0_h2h_weight", "l0_i2h_bias", "l0_h2h_bias", "l0_h2r_weight", "r0_i2h_weight"]
    );
    assert_eq!(net.parameters().len(), 20);
    let error = failure(Recurrent::gru(2).forward(&array(&[1.0; 4], &[2, 2])));
    assert_eq!(error.to_string(), "rnn: needs the axes step, sequence and input, not (2, 2)");
}

#[test]
fn gradients() {
    for net in networks() {
        let x = doubles(&numbers(24), &[3, 2, 4]);
        net.cast(DType::F64).unwrap();
        net.forward(&x).unwrap();
        check_gradients(&net, || net.forward(&x).unwrap());
    }
}
