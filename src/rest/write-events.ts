import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { toAppError } from '../kit/errors.ts';
import type { Log } from '../kit/log.ts';
import type { ServerSentEvent, StreamAnswer } from '../operations/operation.ts';
import { pause } from '../kit/repeat.ts';

const keepAliveEveryMs = 15_000;

/** Writes server-sent events to the end, at the reader's speed, with a comment line after 15 s of silence. */
export const writeEvents = async (
  response: ServerResponse,
  { headers, events }: StreamAnswer,
  { log, requestId }: { log: Log; requestId: string },
): Promise<void> => {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    ...headers,
    'cache-control': 'no-cache, no-transform',
    // Stops proxies such as nginx from buffering the events.
    'x-accel-buffering': 'no',
  });
  const keepAlive = setInterval(() => {
    if (!response.writableNeedDrain) response.write(': keep-alive\n\n');
  }, keepAliveEveryMs);
  try {
    for await (const event of events) {
      keepAlive.refresh();
      if (!(await write(response, toText(event)))) return;
    }
  } catch (error) {
    log.error({ err: error, requestId }, 'a stream failed after it had begun');
    await write(response, toText({ data: JSON.stringify({ error: toAppError(error).toEnvelope() }) }));
  } finally {
    clearInterval(keepAlive);
    response.end();
  }
};

const toText = ({ event, data }: ServerSentEvent): string =>
  event === undefined ? `data: ${data}\n\n` : `event: ${event}\ndata: ${data}\n\n`;

/** A reader that takes nothing for this long is cut off; its job goes on. */
export const stalledReaderMs = 60_000;

/** Resolves with false if the reader has gone. */
const write = async (response: ServerResponse, text: string): Promise<boolean> => {
  if (response.destroyed) return false;
  if (response.write(text)) return true;
  const gone = new AbortController();
  const closed = once(response, 'close', { signal: gone.signal });
  const drained = once(response, 'drain', { signal: gone.signal });
  const hasMoved = await Promise.race([
    drained.then(() => true),
    closed.then(() => true),
    pause(stalledReaderMs, gone.signal).then(() => false),
  ]);
  gone.abort();
  await Promise.allSettled([drained, closed]);
  if (!hasMoved) response.destroy();
  return !response.destroyed;
};
