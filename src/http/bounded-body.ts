import { Readable } from 'node:stream';
import type { Deadline } from './deadline.ts';
import { toExchangeFailure } from './exchange.ts';
import { OutboundError } from './outbound.ts';

export interface BoundedBodyOptions {
  maxBytes: number;
  deadline: Deadline;
  /** Called once, when the body ended, failed or was not wanted any more. */
  onClose: () => void;
}

/**
 * The body of an answer, that fails with OutboundError when it grows beyond `maxBytes`, takes too long or breaks off. A
 * reader that comes after the failure finds it.
 */
export const boundedBody = (
  source: Readable,
  { maxBytes, deadline, onClose }: BoundedBodyOptions,
): Readable => {
  let bytes = 0;
  const expire = (): void => {
    body.destroy(deadline.signal.reason);
  };
  const body = new Readable({
    read: () => {
      source.resume();
    },
    destroy: (error, callback) => {
      deadline.signal.removeEventListener('abort', expire);
      source.destroy();
      onClose();
      callback(error);
    },
  });
  // Nobody may be listening when it fails.
  body.on('error', () => undefined);
  source
    .on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) body.destroy(tooLarge(maxBytes));
      else if (!body.push(chunk)) source.pause();
    })
    .on('end', () => body.push(null))
    .on('error', (error) =>
      body.destroy(deadline.signal.aborted ? deadline.signal.reason : toExchangeFailure(error)),
    )
    .pause();
  deadline.signal.addEventListener('abort', expire, { once: true });
  if (deadline.signal.aborted) expire();
  return body;
};

export const tooLarge = (maxBytes: number): OutboundError =>
  new OutboundError('too_large', `The answer is larger than ${maxBytes} bytes.`);
