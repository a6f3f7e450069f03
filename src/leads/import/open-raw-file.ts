import { close, constants, open as openDescriptor } from 'node:fs';
import { open, stat, type FileHandle } from 'node:fs/promises';
import { Socket } from 'node:net';
import { promisify } from 'node:util';
import { peekStream } from '../../kit/peek-stream.ts';
import { LeadInputError } from './lead-input-error.ts';

/** The stored bytes of a file or stream, before decompression. */
export interface RawFile {
  /** The first bytes, at most 16, which identify compression and format. */
  head: Buffer;
  /** The size of a regular file; null for a stream, which can only be read once from its beginning. */
  size: number | null;
  /** Yields all blocks. Call it once. */
  chunks(): AsyncIterable<Buffer>;
  /** Returns `length` bytes from `start` on, of a regular file. Rejects if there are fewer. */
  slice(start: number, length: number): Promise<Buffer<ArrayBuffer>>;
  /** Rejects if the file changed after it was opened. */
  checkUnchanged(): Promise<void>;
  close(): Promise<void>;
}

interface RawFileOptions {
  file: string;
  signal: AbortSignal;
  onBytes: (bytes: number) => void;
}

const headBytes = 16;
const blockBytes = 256 * 1024;

/** Explains a failed system call on `file`. */
export const fileProblem = (file: string, error: unknown): LeadInputError => {
  if (error instanceof LeadInputError) return error;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const why: Record<string, string> = {
    ENOENT: 'the file does not exist',
    ENOTDIR: 'the file does not exist',
    EACCES: 'this user may not read it',
    EPERM: 'this user may not read it',
    EISDIR: 'it is a folder; name the files in it',
  };
  return new LeadInputError(`${file} cannot be read: ${why[code] ?? (code === '' ? String(error) : code)}.`, {
    cause: error,
  });
};

/** Opens `file` until `close`. Rejects with LeadInputError. */
export const openRawFile = async ({ file, signal, onBytes }: RawFileOptions): Promise<RawFile> => {
  signal.throwIfAborted();
  let handle: FileHandle | null = null;
  try {
    const found = await stat(file);
    if (found.isDirectory()) throw new LeadInputError(`${file} is a folder; name the files in it.`);
    if (found.isFIFO()) return await rawStream(await openPipe(file), { file, signal, onBytes });
    handle = await open(file, 'r');
    const opened = await handle.stat();
    const options = { file, signal, onBytes };
    return opened.isFile()
      ? await rawRegularFile(handle, options, opened)
      : await rawStream(handle.createReadStream({ highWaterMark: blockBytes, signal }), options);
  } catch (error) {
    await handle?.close();
    signal.throwIfAborted();
    throw fileProblem(file, error);
  }
};

const rawRegularFile = async (
  handle: FileHandle,
  { file, signal, onBytes }: RawFileOptions,
  opened: { size: number; mtimeMs: number },
): Promise<RawFile> => {
  const slice = async (start: number, length: number): Promise<Buffer<ArrayBuffer>> => {
    const buffer = Buffer.allocUnsafeSlow(length);
    let filled = 0;
    while (filled < length) {
      signal.throwIfAborted();
      const { bytesRead } = await handle.read(buffer, filled, length - filled, start + filled);
      if (bytesRead === 0) throw new LeadInputError(`${file} is shorter than it was; start again.`);
      filled += bytesRead;
    }
    return buffer;
  };
  async function* chunks(): AsyncGenerator<Buffer> {
    let position = 0;
    try {
      for (;;) {
        signal.throwIfAborted();
        const buffer = Buffer.allocUnsafeSlow(blockBytes);
        const { bytesRead } = await handle.read(buffer, 0, blockBytes, position);
        if (bytesRead === 0) return;
        position += bytesRead;
        onBytes(bytesRead);
        yield buffer.subarray(0, bytesRead);
      }
    } catch (error) {
      signal.throwIfAborted();
      throw fileProblem(file, error);
    }
  }
  return {
    head: await slice(0, Math.min(headBytes, opened.size)),
    size: opened.size,
    chunks,
    slice,
    async checkUnchanged() {
      const now = await handle.stat();
      if (now.size !== opened.size || now.mtimeMs !== opened.mtimeMs)
        throw new LeadInputError(`${file} changed during the import; start again when nothing writes to it.`);
    },
    close: () => handle.close(),
  };
};

/** Reads standard input or a pipe. */
export const rawStream = async (
  stream: NodeJS.ReadableStream,
  { file, signal, onBytes }: RawFileOptions,
): Promise<RawFile> => {
  const destroy = (reason?: Error): void => {
    if ('destroy' in stream && typeof stream.destroy === 'function') stream.destroy(reason);
  };
  const abort = (): void => destroy(toError(signal.reason));
  signal.addEventListener('abort', abort, { once: true });
  // The signal may have aborted while the stream was opened.
  if (signal.aborted) abort();
  async function* blocks(): AsyncGenerator<Buffer> {
    try {
      for await (const value of stream) {
        const block = typeof value === 'string' ? Buffer.from(value) : value;
        onBytes(block.length);
        yield block;
      }
    } catch (error) {
      signal.throwIfAborted();
      throw fileProblem(file, error);
    }
  }
  const { head, body } = await peekStream(blocks(), headBytes);
  return {
    head: Buffer.from(head.subarray(0, headBytes)),
    size: null,
    chunks: () => body,
    slice: () => Promise.reject(new LeadInputError(`${file} cannot be read from the middle.`)),
    checkUnchanged: () => Promise.resolve(),
    close: async () => {
      signal.removeEventListener('abort', abort);
      destroy();
    },
  };
};

const toError = (reason: unknown): Error => (reason instanceof Error ? reason : new Error(String(reason)));

/**
 * Opens a named pipe, even without a writer. The stream waits for one and can be destroyed meanwhile. The usual open
 * would block a thread that nothing can end. Rejects with the system's error.
 */
const openPipe = async (file: string): Promise<NodeJS.ReadableStream> => {
  const descriptor = await promisify(openDescriptor)(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return new Socket({ fd: descriptor, readable: true, writable: false });
  } catch (error) {
    await promisify(close)(descriptor);
    throw error;
  }
};
