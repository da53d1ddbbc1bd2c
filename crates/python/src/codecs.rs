//! Image files: bytes to arrays of pixels and back. The interpreter lock is released meanwhile, so several threads
//! decode in parallel.

use crate::array::PyArray;
use crate::error::raise;
use crate::loc::here;
use crate::wait;
use forerun::image::{ImageError, Wanted, decode, encode_jpeg, encode_png};
use forerun::{DType, Error, ErrorKind, ops};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

fn refused(call: &'static str, what: &str, cause: impl std::fmt::Display) -> PyErr {
    raise(Error::new(ErrorKind::Value, format!("{what}{cause}")).in_op(call))
}

/// The pixels of an image file, of shape (height, width, channels). `flag` is OpenCV's: 0 for gray, 1 for colours, -1
/// for the file's channels. `what` is named in errors.
#[pyfunction]
pub(crate) fn decode_image(
    py: Python<'_>,
    file: &Bound<'_, PyBytes>,
    flag: i64,
    to_rgb: bool,
    what: &str,
) -> PyResult<Py<PyArray>> {
    let call = if what.is_empty() { "imdecode" } else { "imread" };
    let wanted = match flag {
        0 => Wanted::Gray,
        1 => Wanted::Rgb,
        -1 => Wanted::Unchanged,
        _ => return Err(refused(call, "", format_args!("flag must be 0, 1 or -1, not {flag}"))),
    };
    let (bytes, loc) = (file.as_bytes(), here(py));
    let decoded = py.detach(|| {
        let mut pixels = decode(bytes, wanted)?;
        if !to_rgb {
            pixels.swap_red_and_blue();
        }
        Ok(pixels)
    });
    let pixels = decoded.map_err(|cause: ImageError| refused(call, what, cause))?;
    wait::make_host_room(py, pixels.values.len())?;
    let shape = [pixels.height, pixels.width, pixels.channels];
    let array = ops::from_bytes(&pixels.values, DType::U8, &shape, loc).map_err(raise)?;
    Py::new(py, PyArray(array))
}

/// The bytes of a file that holds the pixels: a JPEG with a quality, or a PNG with a compression.
#[pyfunction]
pub(crate) fn encode_image<'py>(
    py: Python<'py>,
    pixels: &Bound<'py, PyBytes>,
    height: usize,
    width: usize,
    channels: usize,
    format: &str,
    level: u8,
) -> PyResult<Bound<'py, PyBytes>> {
    let encode = if format == "jpeg" { encode_jpeg } else { encode_png };
    let values = pixels.as_bytes();
    let encoded = py.detach(|| encode(values, (height, width), channels, level));
    encoded.map(|file| PyBytes::new(py, &file)).map_err(|cause| refused("imencode", "", cause))
}
