//! Parameters: named arrays, trained or not, whose shape may be unknown until the first call.
//!
//! A handle has the name of its parameter relative to where it was requested; all handles of a parameter share one
//! state. Initialising and loading are never recorded on the tape.

use crate::init::Init;
use crate::terms::value;
use forerun_array::{Arg, Array, ops};
use forerun_base::Mutex;
use forerun_base::{DType, Error, ErrorKind, Kind, Loc, Result, Shape};
use forerun_grad::{GradReq, attach_grad, gradient_of, pause};
use std::sync::Arc;

/// A handle to a parameter; cloning returns another one.
#[derive(Clone)]
pub struct Parameter {
    name: String,
    state: Arc<Mutex<State>>,
}

struct State {
    /// The extents; `None` until the first call determines them.
    dims: Vec<Option<usize>>,
    dtype: DType,
    init: Init,
    /// Whether it is initialised as its layer defines, whatever the network's initialiser.
    own_init: bool,
    trainable: bool,
    array: Option<Array>,
}

impl Parameter {
    fn with(name: &str, dims: &[Option<usize>], init: Init, own_init: bool, trainable: bool) -> Parameter {
        let state = State { dims: dims.to_vec(), dtype: DType::F32, init, own_init, trainable, array: None };
        Parameter { name: name.to_owned(), state: Arc::new(Mutex::new(state)) }
    }

    /// A trained parameter that uses the network's initialiser, by default small uniform numbers. Extents that are
    /// `None` are determined by the first call.
    pub fn weight(name: &str, dims: &[Option<usize>]) -> Parameter {
        Parameter::with(name, dims, Init::DEFAULT, false, true)
    }

    /// A trained parameter with its own initialiser.
    pub fn starting_as(name: &str, dims: &[Option<usize>], init: Init) -> Parameter {
        Parameter::with(name, dims, init, true, true)
    }

    /// A parameter that is not trained: it has no gradient.
    pub fn kept(name: &str, dims: &[Option<usize>], init: Init) -> Parameter {
        Parameter::with(name, dims, init, true, false)
    }

    /// A parameter whose elements a file holds.
    pub(crate) fn stored(name: &str, shape: &[usize], dtype: DType, trainable: bool) -> Parameter {
        let dims: Vec<Option<usize>> = shape.iter().copied().map(Some).collect();
        let parameter = Parameter::with(name, &dims, Init::DEFAULT, false, trainable);
        parameter.state.lock().dtype = dtype;
        parameter
    }

    /// The name, relative to where the handle was requested.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same parameter, named from one level above.
    pub fn under(mut self, level: &str) -> Parameter {
        self.name = format!("{level}.{}", self.name);
        self
    }

    /// The shape, if it is known.
    pub fn shape(&self) -> Option<Shape> {
        Shape::new(&known(&self.state.lock().dims)?).ok()
    }

    /// The extents; `None` for those that the first call determines.
    pub fn dims(&self) -> Vec<Option<usize>> {
        self.state.lock().dims.clone()
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.state.lock().dtype
    }

    /// Whether it has a gradient.
    pub fn is_trainable(&self) -> bool {
        self.state.lock().trainable
    }

    /// Whether both are handles to one parameter.
    pub fn is_same(&self, other: &Parameter) -> bool {
        Arc::ptr_eq(&self.state, &other.state)
    }

    /// The array. Fails while the shape is unknown.
    #[track_caller]
    pub fn array(&self) -> Result<Array> {
        self.array_at(Loc::caller())
    }

    pub(crate) fn array_at(&self, loc: Loc) -> Result<Array> {
        self.ready(&mut self.state.lock(), loc)
    }

    /// The array for a layer with a known input: open extents are taken from `shape`.
    pub fn array_for(&self, shape: &[usize], loc: Loc) -> Result<Array> {
        let mut state = self.state.lock();
        if state.array.is_none() {
            self.decide(&mut state, shape)?;
        }
        self.ready(&mut state, loc)
    }

    /// The gradient of the last backward; zeros before the first one, `None` if there is no array yet.
    pub fn gradient(&self) -> Option<Array> {
        let state = self.state.lock();
        gradient_of(state.array.as_ref()?).map(|(grad, _)| grad)
    }

    /// Writes all elements; an open shape is taken from them.
    #[track_caller]
    pub fn set(&self, elements: &Array) -> Result<()> {
        self.set_at(elements, Loc::caller())
    }

    pub(crate) fn set_at(&self, elements: &Array, loc: Loc) -> Result<()> {
        let mut state = self.state.lock();
        self.decide(&mut state, &elements.shape())?;
        match &state.array {
            Some(array) => pause(|| ops::assign(array, Arg::Array(elements), loc)),
            None => {
                let own = pause(|| ops::cast(elements, state.dtype, loc))?;
                self.begin(&mut state, own, loc)
            }
        }
    }

    /// Initialises the parameter again, with `init` unless it has an initialiser of its own.
    pub(crate) fn initialize(&self, init: Init, loc: Loc) -> Result<()> {
        let mut state = self.state.lock();
        if !state.own_init {
            state.init = init;
        }
        match &state.array {
            None => Ok(()),
            Some(array) => state.init.write(&self.name, array, loc),
        }
    }

    /// Changes the dtype.
    pub(crate) fn cast(&self, dtype: DType, loc: Loc) -> Result<()> {
        if dtype.kind() != Kind::Float {
            return Err(Error::new(ErrorKind::Type, format!("`{}` cannot become {dtype}", self.name)).in_op("cast"));
        }
        let mut state = self.state.lock();
        if state.dtype == dtype {
            return Ok(());
        }
        let other = state.array.as_ref().map(|array| pause(|| ops::cast(array, dtype, loc))).transpose()?;
        state.dtype = dtype;
        match other {
            None => Ok(()),
            Some(other) => self.begin(&mut state, other, loc),
        }
    }

    /// Whether an array of this shape fits the parameter.
    pub(crate) fn fits(&self, shape: &[usize]) -> bool {
        fits(&self.state.lock().dims, shape)
    }

    fn decide(&self, state: &mut State, shape: &[usize]) -> Result<()> {
        if !fits(&state.dims, shape) {
            let given = Shape::new(shape)?;
            return Err(self.fail(&format!("of shape {} does not accept shape {given}", open_shape(&state.dims))));
        }
        state.dims = shape.iter().map(|d| Some(*d)).collect();
        Ok(())
    }

    /// The array, created if this is the first use.
    fn ready(&self, state: &mut State, loc: Loc) -> Result<Array> {
        if let Some(array) = &state.array {
            return Ok(array.clone());
        }
        let Some(shape) = known(&state.dims) else {
            return Err(self.fail("has no shape yet: the first call of its layer determines it"));
        };
        let array = pause(|| state.init.array(&self.name, &shape, state.dtype, loc))?;
        self.begin(state, array.clone(), loc)?;
        Ok(array)
    }

    fn begin(&self, state: &mut State, array: Array, loc: Loc) -> Result<()> {
        if state.trainable {
            pause(|| attach_grad(&array, GradReq::Write, loc))?;
        }
        state.array = Some(array);
        Ok(())
    }

    fn fail(&self, text: &str) -> Error {
        value("parameter", format!("`{}` {text}", self.name))
    }
}

fn known(dims: &[Option<usize>]) -> Option<Vec<usize>> {
    dims.iter().copied().collect()
}

fn fits(dims: &[Option<usize>], shape: &[usize]) -> bool {
    dims.len() == shape.len() && dims.iter().zip(shape).all(|(dim, d)| dim.is_none_or(|dim| dim == *d))
}

/// Formats a shape, with `?` for extents that the first call determines.
pub(crate) fn open_shape(dims: &[Option<usize>]) -> String {
    let dims: Vec<String> = dims.iter().map(|d| d.map_or_else(|| "?".to_owned(), |d| d.to_string())).collect();
    match dims.as_slice() {
        [one] => format!("({one},)"),
        all => format!("({})", all.join(", ")),
    }
}
