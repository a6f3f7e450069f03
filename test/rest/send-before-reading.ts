import { once } from 'node:events';
import { connect } from 'node:net';
import { onTestFinished } from 'vitest';

/** The first line of what a client gets that reads nothing before all of its request is on its way. */
export const sendBeforeReading = async (port: number, request: Buffer): Promise<string> => {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
  });
  const written = Promise.withResolvers<void>();
  socket.write(request, (error) => (error ? written.reject(error) : written.resolve()));
  socket.once('error', written.reject);
  await written.promise;
  const [answer] = (await once(socket, 'data')) as [Buffer];
  return answer.toString('latin1').split('\r\n', 1)[0] ?? '';
};
