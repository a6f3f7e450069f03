/** Goes on without output when the reader of it stops early, as `head` does. */
export const outliveReader = (): void => {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
    });
};
