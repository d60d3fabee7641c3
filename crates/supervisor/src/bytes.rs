//! Byte strings on the wire and in records: paths, arguments and variables need not be UTF-8.

use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A byte string; in JSON a string where it is UTF-8, else an array of numbers.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ByteStr(pub Vec<u8>);

impl ByteStr {
    /// The bytes as a path.
    pub fn as_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.0))
    }

    /// The bytes as text, invalid ones replaced.
    pub fn to_text(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl fmt::Debug for ByteStr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "b\"{}\"", self.0.escape_ascii())
    }
}

impl<T: AsRef<OsStr> + ?Sized> From<&T> for ByteStr {
    fn from(text: &T) -> Self {
        Self(text.as_ref().as_bytes().to_vec())
    }
}

impl Serialize for ByteStr {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => serializer.collect_seq(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for ByteStr {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ByteStr;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string or an array of bytes")
            }

            fn visit_str<E>(self, text: &str) -> Result<ByteStr, E> {
                Ok(ByteStr(text.as_bytes().to_vec()))
            }

            fn visit_string<E>(self, text: String) -> Result<ByteStr, E> {
                Ok(ByteStr(text.into_bytes()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<ByteStr, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = sequence.next_element()? {
                    bytes.push(byte);
                }
                Ok(ByteStr(bytes))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_bytes_round_trip() {
        for bytes in [b"plain".to_vec(), "\u{20ac}".into(), vec![0xff, 0, 7]] {
            let json = serde_json::to_string(&ByteStr(bytes.clone())).unwrap();
            assert_eq!(serde_json::from_str::<ByteStr>(&json).unwrap().0, bytes);
        }
    }
}
