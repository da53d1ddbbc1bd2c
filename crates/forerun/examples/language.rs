//! A language model of characters with an LSTM, trained on sentences of a small grammar that the program generates. It
//! prints the loss per character as it falls, and a sentence that the model continues.
//!
//! `cargo run --release --example language -- [STEPS [BATCH]]`, by default `200 32`.

use forerun::grad::{Differentiable, record};
use forerun::nn::{Adam, Dense, Embedding, Init, Layer, Recurrent, Scaling, Sequential, softmax_cross_entropy};
use forerun::{Index, Loc, ReduceKind, Result, ops, seed};

/// The characters of the text; a token is a position here.
const CHARACTERS: &str = "abcdefghijklmnopqrstuvwxyz .";
/// Characters of a training sequence.
const STEPS: usize = 24;

/// Numbers below a bound, the same in every run.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn word<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len())]
    }
}

/// Sentences such as `the small cat sees a dog.`, as tokens.
fn sentences(length: usize, draws: &mut Draws) -> Vec<i64> {
    let mut text = String::new();
    while text.len() < length {
        for verb in [true, false] {
            text += draws.word(&["the ", "a "]);
            text += draws.word(&["", "small ", "red ", "old "]);
            text += draws.word(&["cat", "dog", "bird", "horse", "fish"]);
            text += if verb { draws.word(&[" sees ", " follows ", " likes ", " hears "]) } else { ". " };
        }
    }
    tokens(&text)
}

fn tokens(text: &str) -> Vec<i64> {
    text.chars().map(|c| CHARACTERS.find(c).expect("a character of the list") as i64).collect()
}

/// Trains a new model, and returns it with the loss of every step.
fn train(steps: usize, batch: usize) -> Result<(Sequential, Vec<f64>)> {
    seed(1);
    let mut draws = Draws(1);
    let text = sentences(20_000, &mut draws);
    let net = Sequential::new()
        .then(Embedding::new(CHARACTERS.len(), 32))
        .then(Recurrent::lstm(64))
        .then(Dense::new(CHARACTERS.len()).flatten(false));
    net.initialize(Init::Xavier(Scaling::default()))?;
    let mut adam = Adam::new(net.parameters(), 0.01);
    let mut losses = Vec::new();
    for _ in 0..steps {
        let starts: Vec<usize> = (0..batch).map(|_| draws.below(text.len() - STEPS)).collect();
        // Sequences are columns, and the label of a character is the one after it.
        let columns = |shift: usize| -> Vec<i64> {
            (0..STEPS).flat_map(|step| starts.iter().map(move |start| start + step + shift)).map(|i| text[i]).collect()
        };
        let [x, labels] = [0, 1].map(|shift| ops::from_slice(&columns(shift), &[STEPS, batch], Loc::caller()));
        let (x, labels) = (x?, labels?);
        let loss = record(|| Ok(softmax_cross_entropy(&net.forward(&x)?, &labels)?.mean()))?;
        loss.backward()?;
        adam.step(1)?;
        losses.push(loss);
    }
    let losses = losses.iter().map(|loss| loss.item::<f64>()).collect::<Result<_>>()?;
    Ok((net, losses))
}

/// The text and the characters that the model expects most after it, up to a full stop.
fn continued(net: &Sequential, start: &str, most: usize) -> Result<String> {
    let mut text = start.to_owned();
    while text.len() < most && !text.ends_with('.') {
        let tokens = tokens(&text);
        let scores = net.forward(&ops::from_slice(&tokens, &[tokens.len(), 1], Loc::caller())?)?;
        let last = ops::index(&scores, &[Index::At(-1), Index::At(0)])?;
        let best = ops::reduce(ReduceKind::ArgMax, &last, None, false, Loc::caller())?.item::<f64>()?;
        text.push(char::from(CHARACTERS.as_bytes()[best as usize]));
    }
    Ok(text)
}

fn main() -> Result<()> {
    let mut given = std::env::args().skip(1).map(|word| word.parse().expect("a number"));
    let (steps, batch) = (given.next().unwrap_or(200), given.next().unwrap_or(32));
    let (net, losses) = train(steps, batch)?;
    for (step, loss) in
        losses.iter().enumerate().filter(|(step, _)| step % (steps / 10).max(1) == 0 || step + 1 == steps)
    {
        println!("step {step:4}  loss {loss:.3}");
    }
    println!("{}", continued(&net, "the small ", 60)?);
    Ok(())
}

#[test]
fn the_loss_falls() {
    let (net, losses) = train(30, 16).unwrap();
    assert!(losses[29] < 0.8 * losses[0], "{losses:?}");
    assert!(continued(&net, "the ", 20).unwrap().starts_with("the "));
}
