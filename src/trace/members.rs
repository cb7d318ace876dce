//! `Members`: a gzip stream, member by member, that tells what is cut short from what is followed by
//! something else.

use std::io::{self, BufRead, Read};

use flate2::bufread::GzDecoder;

/// The first byte of each member.
const MAGIC: u8 = 0x1f;

/// Reads gzip members one after the other, to the end of the stream: `cat a.gz b.gz` is one stream.
#[derive(Debug)]
pub(super) struct Members<R> {
    /// `None` only while one member follows another.
    member: Option<GzDecoder<R>>,
    followed: bool,
}

impl<R: BufRead> Members<R> {
    /// The members of `stream`, which begins with one.
    pub(super) fn new(stream: R) -> Self {
        Self {
            member: Some(GzDecoder::new(stream)),
            followed: false,
        }
    }

    /// Whether reading failed because what follows a member is none.
    pub(super) const fn is_followed(&self) -> bool {
        self.followed
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(buffer)?;
            if read > 0 || buffer.is_empty() {
                return Ok(read);
            }
            match member.get_mut().fill_buf()?.first() {
                None => return Ok(0),
                Some(&MAGIC) => {
                    let ended = self.member.take();
                    self.member = ended.map(|member| GzDecoder::new(member.into_inner()));
                }
                Some(_) => {
                    self.followed = true;
                    return Err(io::ErrorKind::InvalidData.into());
                }
            }
        }
        Ok(0)
    }
}
