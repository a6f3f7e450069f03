import { close, constants, createReadStream, open } from 'node:fs';
import { stat } from 'node:fs/promises';
import { Socket } from 'node:net';
import { addAbortSignal, type Readable } from 'node:stream';
import { promisify } from 'node:util';
import { LeadInputError } from './input-options.ts';

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

/** Yields the stored bytes of a file or a pipe, or of `stdin` if there is one. Rejects with LeadInputError. */
export async function* rawBytes(
  file: string,
  options: { stdin: Readable | null; signal: AbortSignal; onBytes: (bytes: number) => void },
): AsyncGenerator<Buffer> {
  const { stdin, signal, onBytes } = options;
  try {
    const stream = addAbortSignal(signal, stdin ?? (await openFile(file)));
    for await (const chunk of stream) {
      const block = typeof chunk === 'string' ? Buffer.from(chunk) : (chunk as Buffer);
      onBytes(block.length);
      yield block;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw fileProblem(file, error);
  }
}

const openFile = async (file: string): Promise<Readable> =>
  (await stat(file)).isFIFO() ? openPipe(file) : createReadStream(file, { highWaterMark: blockBytes });

/**
 * Opens a named pipe, even without a writer. The stream waits for one and can be destroyed meanwhile. The usual open
 * would block a thread that nothing can end. Rejects with the system's error.
 */
const openPipe = async (file: string): Promise<Readable> => {
  const descriptor = await promisify(open)(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return new Socket({ fd: descriptor, readable: true, writable: false });
  } catch (error) {
    await promisify(close)(descriptor);
    throw error;
  }
};
