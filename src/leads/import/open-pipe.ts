import { close, constants, open } from 'node:fs';
import { Socket } from 'node:net';
import { promisify } from 'node:util';

/**
 * Reads a named pipe, also one that nobody writes into yet: the stream waits for that, and can be destroyed meanwhile. To
 * open it in the usual way would wait in a thread that nothing ends. Rejects with the system's error.
 */
export const openPipe = async (file: string): Promise<NodeJS.ReadableStream> => {
  const descriptor = await promisify(open)(file, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return new Socket({ fd: descriptor, readable: true, writable: false });
  } catch (error) {
    await promisify(close)(descriptor);
    throw error;
  }
};
