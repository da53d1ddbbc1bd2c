//! Optimisers: one call updates many weights by a rule of `nn`.

use crate::abi::{forerun_array, forerun_attribute, forerun_optimiser, forerun_status};
use crate::caller::{Outcome, call};
use crate::error::Failure;
use crate::handle::give;
use crate::named::Given;
use forerun::grad::gradient_of;
use forerun::nn::rules::{AdamRule, Preparation, Rule, SgdRule, WeightUpdate};
use forerun::{Array, Loc, Scalar};
use std::ffi::c_char;
use std::sync::Mutex;

/// The weights, and what the rule keeps about them.
pub(crate) struct Trained(Mutex<State>);

struct State {
    rule: Box<dyn Rule + Send>,
    weights: Vec<Array>,
    states: Vec<Vec<Array>>,
    rate: f64,
    decay: f64,
    clip: Option<f64>,
    steps: u64,
}

/// The options of a rule, each used once.
struct Options<'a>(Vec<(&'a str, Given<'a>)>);

impl Options<'_> {
    fn take(&mut self, name: &str) -> Outcome<Option<f64>> {
        let Some(place) = self.0.iter().position(|(other, _)| *other == name) else { return Ok(None) };
        match self.0.swap_remove(place).1 {
            Given::Number(number @ (Scalar::Bool(_) | Scalar::Int(_) | Scalar::Float(_))) => Ok(Some(number.as_f64())),
            other => Err(Failure::kind(format!("{name} must be a number, got {other:?}"))),
        }
    }

    fn number(&mut self, name: &str, default: f64) -> Outcome<f64> {
        Ok(self.take(name)?.unwrap_or(default))
    }
}

fn rule(name: &str, options: &mut Options<'_>) -> Outcome<Box<dyn Rule + Send>> {
    Ok(match name {
        "sgd" => Box::new(SgdRule { momentum: options.number("momentum", 0.0)?, ..SgdRule::default() }),
        "adam" | "adamw" => {
            let AdamRule { betas: (mean, variance), epsilon, .. } = AdamRule::default();
            let betas = (options.number("beta1", mean)?, options.number("beta2", variance)?);
            let epsilon = options.number("epsilon", epsilon)?;
            Box::new(AdamRule { betas, epsilon, decoupled: name == "adamw", ..AdamRule::default() })
        }
        _ => return Err(Failure::value(format!("there is no optimiser {name}; expected sgd, adam or adamw"))),
    })
}

impl State {
    fn step(&mut self, batch: usize, loc: Loc) -> Outcome<()> {
        if batch == 0 {
            return Err(Failure::value("the batch size must be at least 1, got 0").within(self.rule.name()));
        }
        let gradient = |(number, weight)| {
            let found = gradient_of(weight).map(|(gradient, _)| gradient);
            let text = || format!("weight {number} has no gradient: it needs forerun_attach_grad");
            found.ok_or_else(|| Failure::value(text()).within(self.rule.name()))
        };
        let gradients = self.weights.iter().enumerate().map(gradient).collect::<Outcome<Vec<Array>>>()?;
        if self.steps == 0 {
            let begun = self.weights.iter().map(|weight| self.rule.states(weight, loc));
            self.states = begun.collect::<forerun::Result<_>>()?;
        }
        self.steps += 1;
        let count = self.weights.len();
        let states: Vec<Vec<&Array>> = self.states.iter().map(|own| own.iter().collect()).collect();
        let update = WeightUpdate {
            weights: &self.weights.iter().collect::<Vec<_>>(),
            gradients: &gradients.iter().collect::<Vec<_>>(),
            states: &states,
            rates: &vec![self.rate; count],
            decays: &vec![self.decay; count],
            counts: &vec![self.steps; count],
            adapts: None,
            preparation: Preparation { rescale: 1.0 / batch as f64, clip: self.clip },
        };
        Ok(update.apply(&*self.rule, loc)?)
    }
}

/// Creates an optimiser of variables. `rule`: "sgd" (options: momentum), "adam" or "adamw" (beta1, beta2, epsilon).
/// Every rule has the options learning_rate (default 0.01), weight_decay and clip_gradient, the largest absolute value
/// of an element of a gradient.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_optimiser_create(
    rule: *const c_char,
    weights: *const *const forerun_array,
    weight_count: usize,
    options: *const forerun_attribute,
    option_count: usize,
    out: *mut *mut forerun_optimiser,
) -> forerun_status {
    call(|caller| {
        caller.writable(out)?;
        let name = caller.text(rule, "the rule")?;
        let mut options = Options(caller.attributes(options, option_count)?);
        let rule = self::rule(name, &mut options)?;
        let (rate, decay) = (options.number("learning_rate", 0.01)?, options.number("weight_decay", 0.0)?);
        let clip = options.take("clip_gradient")?;
        if let Some((unknown, _)) = options.0.first() {
            return Err(Failure::kind(format!("unexpected option {unknown}")).within(rule.name()));
        }
        let weights = caller.all(weights, weight_count)?.iter().map(|weight| Clone::clone(&**weight)).collect();
        let state = State { rule, weights, states: Vec::new(), rate, decay, clip, steps: 0 };
        caller.put(out, give::<forerun_optimiser>(Trained(Mutex::new(state))))
    })
}

/// One step with the gradients of the weights, which were summed over `batch` samples. Nothing is written unless all
/// gradients exist.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_optimiser_step(optimiser: *mut forerun_optimiser, batch: usize) -> forerun_status {
    call(|caller| {
        let trained = caller.get(optimiser)?;
        let mut state = trained.0.lock().unwrap_or_else(|e| e.into_inner());
        state.step(batch, caller.loc())
    })
}

/// Sets the learning rate from the next step on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_optimiser_set_learning_rate(
    optimiser: *mut forerun_optimiser,
    rate: f64,
) -> forerun_status {
    call(|caller| {
        caller.get(optimiser)?.0.lock().unwrap_or_else(|e| e.into_inner()).rate = rate;
        Ok(())
    })
}

/// Frees an optimiser; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_optimiser_free(optimiser: *mut forerun_optimiser) -> forerun_status {
    call(|caller| caller.free(optimiser))
}
