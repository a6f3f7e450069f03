import { close, constants, open } from 'node:fs';
import { Socket } from 'node:net';
import { promisify } from 'node:util';

/**
 * Opens a named pipe, even without a writer. The stream waits for one and can be destroyed meanwhile. The usual open
 * would block a thread that nothing can end. Rejects with the system's error.
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
