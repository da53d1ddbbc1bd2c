//! Ops by name.

use crate::abi::{
    FORERUN_ATTRIBUTE_BOOL, FORERUN_ATTRIBUTE_COMPLEX, FORERUN_ATTRIBUTE_FLOAT, FORERUN_ATTRIBUTE_FLOATS,
    FORERUN_ATTRIBUTE_INT, FORERUN_ATTRIBUTE_INTS, FORERUN_ATTRIBUTE_TEXT, FORERUN_ATTRIBUTE_UINT, forerun_argument,
    forerun_array, forerun_attribute, forerun_status,
};
use crate::caller::{Caller, Operand, Outcome, call};
use crate::error::{Failure, c_text};
use crate::handle::give;
use crate::named::{self, Given};
use forerun::{Arg, Scalar};
use std::ffi::{CString, c_char};
use std::sync::OnceLock;

/// Submits an op by its name. docs/catalogue.json lists all ops with their inputs and attributes; flags and attributes
/// of the type "optional float" may be omitted. `outputs` has room for `capacity` results; `count` (may be null) becomes
/// their number. Nearly all ops have one result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_call(
    op: *const c_char,
    inputs: *const forerun_argument,
    input_count: usize,
    attributes: *const forerun_attribute,
    attribute_count: usize,
    outputs: *mut *mut forerun_array,
    capacity: usize,
    count: *mut usize,
) -> forerun_status {
    call(|caller| {
        let op = caller.text(op, "the name of the op")?;
        let operands = caller.slice(inputs, input_count, "the inputs")?;
        let operands: Vec<Operand<'_>> = operands.iter().map(|input| caller.operand(input)).collect::<Outcome<_>>()?;
        let args: Vec<Arg<'_>> = operands.iter().map(Operand::arg).collect();
        let given = caller.attributes(attributes, attribute_count)?;
        if capacity == 0 {
            return Err(Failure::value("there is no place for the result"));
        }
        caller.writable(outputs)?;
        let made = named::call(op, &args, &given, caller.loc())?;
        if made.len() > capacity {
            return Err(Failure::value(format!("{op}: {} results do not fit in {capacity} places", made.len())));
        }
        if !count.is_null() {
            caller.put(count, made.len())?;
        }
        caller.put_all(outputs, capacity, made.into_iter().map(give::<forerun_array>))
    })
}

impl Caller {
    /// Named attributes.
    pub(crate) fn attributes<'a>(
        &'a self,
        first: *const forerun_attribute,
        count: usize,
    ) -> Outcome<Vec<(&'a str, Given<'a>)>> {
        let all = self.slice(first, count, "the attributes")?;
        all.iter()
            .map(|attribute| Ok((self.text(attribute.name, "the name of an attribute")?, self.given(attribute)?)))
            .collect()
    }

    fn given<'a>(&'a self, attribute: &forerun_attribute) -> Outcome<Given<'a>> {
        let forerun_attribute { kind, integer, real, data, count, .. } = *attribute;
        Ok(match kind {
            FORERUN_ATTRIBUTE_BOOL => Given::Number(Scalar::Bool(integer != 0)),
            FORERUN_ATTRIBUTE_INT => Given::Number(Scalar::Int(integer)),
            FORERUN_ATTRIBUTE_UINT => Given::Number(Scalar::from(integer as u64)),
            FORERUN_ATTRIBUTE_FLOAT => Given::Number(Scalar::Float(real)),
            FORERUN_ATTRIBUTE_COMPLEX => {
                let parts = self.slice(data.cast::<f64>(), 2, "the parts of a complex attribute")?;
                Given::Number(Scalar::Complex(parts[0], parts[1]))
            }
            FORERUN_ATTRIBUTE_INTS => {
                Given::Integers(self.slice(data.cast(), count, "the integers of an attribute")?)
            }
            FORERUN_ATTRIBUTE_FLOATS => Given::Floats(self.slice(data.cast(), count, "the floats of an attribute")?),
            FORERUN_ATTRIBUTE_TEXT => Given::Text(self.text(data.cast(), "the text of an attribute")?),
            other => return Err(Failure::kind(format!("{other} is not the kind of an attribute"))),
        })
    }
}

/// The number of ops that forerun_call() takes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_op_count() -> usize {
    names().len()
}

/// The name of an op by its number; null beyond the last one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn forerun_op_name(number: usize) -> *const c_char {
    names().get(number).map_or(std::ptr::null(), |name| name.as_ptr())
}

fn names() -> &'static [CString] {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    NAMES.get_or_init(|| named::names().map(c_text).collect())
}
