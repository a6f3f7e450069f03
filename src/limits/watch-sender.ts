import type { IncomingMessage } from 'node:http';

export interface WatchSenderOptions {
  periodMs?: number;
  leastBytes?: number;
}

/**
 * Cuts off a sender who sends nothing of a body in the first period, or less than `leastBytes` in a later one, as memory is
 * reserved for that body. The watch ends with the body; the returned function ends it before.
 */
export const watchSender = (
  request: IncomingMessage,
  { periodMs = 20_000, leastBytes = 64 * 1024 }: WatchSenderOptions = {},
): (() => void) => {
  if (request.destroyed || request.complete) return () => undefined;
  const { socket } = request;
  let seen = socket.bytesRead;
  let needed = 1;
  const look = (): void => {
    if (request.destroyed || request.complete) return end();
    if (socket.bytesRead - seen < needed) request.destroy();
    seen = socket.bytesRead;
    needed = leastBytes;
  };
  const timer = setInterval(look, periodMs);
  const end = (): void => {
    clearInterval(timer);
    request.off('close', end);
  };
  request.once('close', end);
  return end;
};
