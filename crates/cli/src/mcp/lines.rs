//! The transport of `kennel mcp`: a message a line, and an answer to every line that is none.
//!
//! Not the one of rmcp: that passes over what it cannot read, and the client waits for ever.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::sync::Mutex;
use tokio::task::JoinHandle;

use crate::jsonrpc;

/// The longest line.
const LINE_BYTES_MAX: usize = 16 << 20;
/// Some editors put it first.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Lines in, lines out.
pub(super) struct Lines<R, W> {
    input: BufReader<R>,
    /// What has come of a line.
    line: Vec<u8>,
    /// The line is too long: what is left of it is dropped.
    overlong: bool,
    output: Arc<Mutex<W>>,
    /// A complaint that is being written. One at a time: who does not read gets no more of them.
    complaint: Option<JoinHandle<()>>,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> Lines<R, W> {
    pub(super) fn new(input: R, output: W) -> Self {
        Self {
            input: BufReader::new(input),
            line: Vec::new(),
            overlong: false,
            output: Arc::new(Mutex::new(output)),
            complaint: None,
        }
    }

    /// Reads to the end of a line; `false`: there are no more.
    ///
    /// Nothing is lost when the future is dropped: what was taken from the buffer is in `line`.
    async fn read_line(&mut self) -> bool {
        loop {
            let Ok(read) = self.input.fill_buf().await else { return false };
            if read.is_empty() {
                return false;
            }
            let end = read.iter().position(|byte| *byte == b'\n');
            let part = end.map_or(read, |end| read.split_at(end).0);
            self.overlong |= self.line.len() + part.len() > LINE_BYTES_MAX;
            if self.overlong {
                self.line = Vec::new();
            } else {
                self.line.extend_from_slice(part);
            }
            let taken = end.map_or(part.len(), |end| end + 1);
            self.input.consume(taken);
            if end.is_some() {
                return true;
            }
        }
    }

    /// The message of the line that has come, or the complaint about it.
    fn take_message(&mut self) -> Result<ClientJsonRpcMessage, Option<serde_json::Value>> {
        let line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.overlong) {
            let why = format!("a line of more than {LINE_BYTES_MAX} bytes");
            return Err(Some(jsonrpc::refusal(jsonrpc::INVALID_REQUEST, &why, None)));
        }
        let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line).trim_ascii();
        if line.is_empty() {
            return Err(None);
        }
        serde_json::from_slice(line).map_err(|error| {
            tracing::debug!(%error, "a line is no message");
            jsonrpc::complaint(line)
        })
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move { write(&output, serde_json::to_vec(&message)?).await }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if let Some(writing) = &mut self.complaint {
                let _written = writing.await;
                self.complaint = None;
            }
            if !self.read_line().await {
                return None;
            }
            match self.take_message() {
                Ok(message) => return Some(message),
                Err(None) => {}
                // In a task of its own: this future may be dropped at any time, in the middle of a line.
                Err(Some(complaint)) => {
                    let output = Arc::clone(&self.output);
                    self.complaint = Some(tokio::spawn(async move {
                        let _nobody_reads = write(&output, complaint.to_string().into_bytes()).await;
                    }));
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.output.lock().await.shutdown().await
    }
}

async fn write<W: AsyncWrite + Unpin>(output: &Mutex<W>, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&line).await?;
    output.flush().await
}
