import type { IncomingMessage, ServerResponse } from 'node:http';

/** What a client may need to send the rest of what was refused. */
const usualLongestMs = 15_000;

/**
 * Reads and throws away what is left of a request's body when its answer has been written, for a while; then its
 * connection is cut. Were it closed at once, a client that is still sending would never see the answer.
 */
export const discardUnread = (
  request: IncomingMessage,
  response: ServerResponse,
  { longestMs = usualLongestMs }: { longestMs?: number } = {},
): void => {
  // Ahead of node's own listener, which closes the connection of a last answer whatever is still coming.
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
