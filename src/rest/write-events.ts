import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { toAppError } from '../kit/errors.ts';
import type { Log } from '../kit/log.ts';
import type { ServerSentEvent, StreamAnswer } from '../operations/answer.ts';
import { pause } from '../kit/repeat.ts';
import { stalledReaderMs } from '../kit/write-answer.ts';

const keepAliveEveryMs = 15_000;

/** Writes server-sent events to the end, at the reader's speed, with a comment line after 15 s of silence. */
export const writeEvents = async (
  response: ServerResponse,
  { headers, stream }: StreamAnswer,
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
  const send = (sent: ServerSentEvent[]): Promise<void> | undefined => {
    keepAlive.refresh();
    return writeText(response, sent.map(toText).join(''));
  };
  try {
    await stream(send);
  } catch (error) {
    log.error({ err: error, requestId }, 'a stream failed after it had begun');
    await send([{ data: JSON.stringify({ error: toAppError(error).toEnvelope() }) }]);
  } finally {
    clearInterval(keepAlive);
    response.end();
  }
};

const toText = ({ comment, event, data }: ServerSentEvent): string => {
  const named = event === undefined ? '' : `event: ${event}\n`;
  return `${comment === undefined ? '' : `: ${comment}\n`}${named}data: ${data}\n\n`;
};

/** Resolves when the reader takes more, or has gone. Undefined: it takes more at once. */
export const writeText = (response: ServerResponse, text: string): Promise<void> | undefined =>
  response.destroyed || response.write(text) ? undefined : drained(response);

const drained = async (response: ServerResponse): Promise<void> => {
  const moved = new AbortController();
  const ends = ['close', 'drain'].map((name) => once(response, name, { signal: moved.signal }));
  const hasMoved = await Promise.race([
    ...ends.map((end) => end.then(() => true)),
    pause(stalledReaderMs, moved.signal).then(() => false),
  ]);
  moved.abort();
  await Promise.allSettled(ends);
  if (!hasMoved) response.destroy();
};
