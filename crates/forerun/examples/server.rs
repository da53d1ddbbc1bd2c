//! A server on tokio: each line that a client sends holds numbers, and the answer holds the probabilities of three classes.
//! Awaiting an array leaves the executor's thread to other clients until the result is there.
//!
//! `cargo run --example server -- [PORT]`, by default a free port of the loopback interface; try `nc 127.0.0.1 PORT`.

use forerun::nn::{Activation, Dense, Sequential};
use forerun::prelude::*;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).map_or(0, |word| word.parse().expect("a port"));
    tokio::runtime::Builder::new_multi_thread().enable_io().build()?.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", port)).await?;
        println!("listening on {}", listener.local_addr()?);
        serve(listener, Arc::new(network())).await
    })
}

fn network() -> Sequential {
    Sequential::new().then(Dense::new(16).activation(Activation::Relu)).then(Dense::new(3))
}

/// Answers clients, each in a task of its own.
async fn serve(listener: TcpListener, net: Arc<Sequential>) -> std::io::Result<()> {
    loop {
        let (client, _) = listener.accept().await?;
        tokio::spawn(converse(client, net.clone()));
    }
}

async fn converse(mut client: TcpStream, net: Arc<Sequential>) -> std::io::Result<()> {
    let (input, mut output) = client.split();
    let mut lines = BufReader::new(input).lines();
    while let Some(line) = lines.next_line().await? {
        let answer = match classify(&line, &net).await {
            Ok(shares) => shares.iter().map(|share| format!("{share:.3} ")).collect(),
            Err(error) => format!("error: {}", error.message()),
        };
        output.write_all(format!("{}\n", answer.trim_end()).as_bytes()).await?;
    }
    Ok(())
}

/// The probabilities of the classes for the four numbers of a line.
async fn classify(line: &str, net: &Sequential) -> Result<Vec<f64>> {
    let numbers: Vec<f32> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    // The layers learn the number of inputs from their first call.
    let shares = net.forward(&Array::try_from_slice(&numbers, [1, 4])?)?.try_softmax(-1)?;
    Ok(shares.await?.to_f64())
}

#[test]
fn clients_get_probabilities() {
    use std::io::{BufRead, Write};
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_io().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).unwrap();
    let address = listener.local_addr().unwrap();
    runtime.spawn(serve(listener, Arc::new(network())));
    let mut clients: Vec<_> = (0..3).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
    for client in &mut clients {
        client.write_all(b"1 2 3 4\n1 2\n").unwrap();
    }
    for client in clients {
        let mut lines = std::io::BufReader::new(client).lines().map(|line| line.unwrap());
        let shares: Vec<f64> = lines.next().unwrap().split(' ').map(|share| share.parse().unwrap()).collect();
        assert!(shares.len() == 3 && (shares.iter().sum::<f64>() - 1.0).abs() < 0.01, "{shares:?}");
        assert!(lines.next().unwrap().starts_with("error: 2 numbers do not fill an array of shape (1, 4)"));
    }
}
