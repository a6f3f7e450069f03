import type { IncomingMessage, ServerResponse } from 'node:http';

/** Time that a client may need to send the rest of a refused body. */
const usualLongestMs = 15_000;

/**
 * After the answer is written, reads and discards the rest of the request's body for a while, then cuts the connection.
 * If it were closed at once, a client that is still sending would never see the answer.
 */
export const discardUnread = (
  request: IncomingMessage,
  response: ServerResponse,
  { longestMs = usualLongestMs }: { longestMs?: number } = {},
): void => {
  // Runs before node's own listener, which closes the connection after the last answer even if the client still sends.
  response.prependOnceListener('finish', () => {
    if (request.complete) return;
    const { socket } = request;
    socket.destroySoon = () => void socket.end();
    const timer = setTimeout(() => socket.destroy(), longestMs);
    const end = (): void => {
      clearTimeout(timer);
      Reflect.deleteProperty(socket, 'destroySoon');
      if (socket.writableEnded) socket.destroy();
    };
    request.once('end', end).once('close', end).resume();
  });
};
