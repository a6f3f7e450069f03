import fc from 'fast-check';
import { ResponseStream } from 'openai/lib/responses/ResponseStream';
import { describe, expect, it } from 'vitest';
import type { JobEvent } from '../../../src/jobs/executor.ts';
import type { ItemEnd } from '../../../src/operations/responses/response-output.ts';
import {
  asJson,
  readResponse,
  toFinishedResponse,
  type ResponseObject,
} from '../../../src/operations/responses/response-object.ts';
import { createResponse } from '../../../src/operations/responses/create-response.ts';
import type { SendEvents, ServerSentEvent } from '../../../src/operations/answer.ts';
import type { AccountCall, Services } from '../../../src/operations/call.ts';
import { streamLive, streamStored } from '../../../src/operations/chat/answer-text-job.ts';
import { createResponseStream } from '../../../src/operations/responses/response-stream.ts';
import type { Job } from '../../../src/store/store.ts';
import { arbitraryPieces, gather, jobId } from './response-pieces.ts';
import { responsesJob, responsesRequest } from './responses-job.ts';
import { createJobFeed } from '../../../src/jobs/job-feed.ts';

const usage = { promptTokens: 3, completionTokens: 4, cachedTokens: 1, reasoningTokens: null };

const finish = (pieces: JobEvent[], end: ItemEnd): Job => ({
  ...responsesJob,
  status: 'done',
  request: '',
  result: JSON.stringify(
    asJson(
      toFinishedResponse(responsesJob, responsesRequest.shown, {
        output: gather(pieces, end).items,
        usage,
        incomplete: end === 'incomplete' ? 'max_output_tokens' : null,
        now: 1_760_000_009_000,
      }),
    ),
  ),
});

interface WireEvent {
  type: string;
  sequence_number: number;
  response?: ResponseObject;
}

const parse = (events: ServerSentEvent[]): WireEvent[] =>
  events.map(({ event, data }) => {
    const parsed = JSON.parse(data) as WireEvent;
    expect(parsed.type).toBe(event);
    return parsed;
  });

const collect = async (stream: (send: SendEvents) => Promise<void>): Promise<WireEvent[]> => {
  const all: ServerSentEvent[] = [];
  await stream((events) => {
    all.push(...events);
    return undefined;
  });
  return parse(all);
};

const never = new AbortController().signal;

const replay = (job: Job): WireEvent[] => parse(streamStored(createResponseStream(job.id), job));

const follow = (pieces: JobEvent[], finished: Job): Promise<WireEvent[]> => {
  const feed = createJobFeed<JobEvent>();
  for (const piece of pieces) feed.emit(piece);
  feed.end();
  const live = { feed, provider: null, finished: Promise.resolve(finished) };
  const stream = createResponseStream(responsesJob.id);
  return collect((send) =>
    streamLive(stream, { job: responsesJob, live, finished: () => live.finished }, { signal: never, send }),
  );
};

/** What the openai package puts together from the events; the last one comes without its output. */
const putTogether = async (events: WireEvent[]): Promise<ResponseObject> => {
  const lines = events.map((event, index) => {
    const { response } = event;
    if (response === undefined || index < events.length - 1) return event;
    const { output: _output, output_text: _text, ...rest } = response;
    return { ...event, response: rest };
  });
  const source = ReadableStream.from(
    lines.map((line) => new TextEncoder().encode(`${JSON.stringify(line)}\n`)),
  );
  const stream = ResponseStream.fromReadableStream(source);
  return JSON.parse(JSON.stringify(await stream.finalResponse())) as ResponseObject;
};

/** Without what the package adds for itself. */
const bare = (output: unknown): unknown =>
  JSON.parse(
    JSON.stringify(output, (name, value: unknown) =>
      name === 'parsed' || name === 'parsed_arguments' ? undefined : value,
    ),
  );

const ends = fc.constantFrom<ItemEnd>('completed', 'incomplete');

describe('the events of a response', () => {
  it('put together by the openai package are the finished response, live and replayed', async () => {
    await fc.assert(
      fc.asyncProperty(arbitraryPieces, ends, async (pieces, end) => {
        const job = finish(pieces, end);
        const response = readResponse(job);
        for (const events of [await follow(pieces, job), replay(job)]) {
          expect(events.map((event) => event.sequence_number)).toEqual([...events.keys()]);
          expect(events.slice(0, 2).map(({ type }) => type)).toEqual([
            'response.created',
            'response.in_progress',
          ]);
          expect(events.at(-1)).toMatchObject({ type: `response.${end}`, response });
          const made = await putTogether(events);
          expect(bare(made.output)).toEqual(response.output);
          expect(made.output_text).toBe(response.output_text);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('begin with the same response whether it is made now or was made before', async () => {
    const job = finish([{ type: 'content', text: 'Hi' }], 'completed');
    const [live] = await follow([], job);
    const [replayed] = replay(job);
    expect(replayed).toEqual(live);
    expect(live?.response).toMatchObject({
      status: 'in_progress',
      output: [],
      usage: null,
      instructions: 'Be brief.',
      created_at: 1_760_000_000,
      completed_at: null,
    });
  });

  it('end with response.failed when the job failed, also when it left no result', async () => {
    const error = { type: 'server_error', code: 'upstream_error', message: 'It failed.' };
    const failed: Job = { ...responsesJob, status: 'failed', request: '', error };
    const events = await follow([{ type: 'content', text: 'Hal' }], failed);
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        error: { code: 'server_error', message: 'It failed.' },
        output: [],
        usage: null,
        metadata: { order: '7' },
        instructions: null,
        tools: [],
      },
    });
    expect(events.map(({ type }) => type)).not.toContain('response.output_item.done');
  });

  it('end with response.failed and the way to read on when waiting is given up', async () => {
    const events = replay(responsesJob);
    expect(events.map(({ type }) => type)).toEqual([
      'response.created',
      'response.in_progress',
      'response.failed',
    ]);
    expect(events.at(-1)?.response?.error?.message).toContain(`/v1/responses/resp_${jobId}`);
  });

  it('end with response.failed when the job was lost here and the store cannot be asked', async () => {
    const feed = createJobFeed<JobEvent>();
    feed.emit({ type: 'content', text: 'Hal' });
    feed.end();
    const finished = Promise.reject(new Error('the lease was lost'));
    finished.catch(() => undefined);
    const jobs = {
      live: () => ({ feed, finished }),
      wait: () => Promise.reject(new Error('the store is away')),
    };
    const answer = await createResponse.sale.answer(
      { job: responsesJob, isReplayed: false },
      { input: 'Hi', stream: true },
      { transport: 'rest', signal: never } as AccountCall,
      { jobs, config: { chatDeadlineMs: 1_000 } } as unknown as Services,
    );
    if (answer?.kind !== 'stream') throw new Error('it is no stream');
    const events = await collect((send) => answer.stream(send));
    expect(events.at(-1)).toMatchObject({ type: 'response.failed', response: { status: 'failed' } });
  });

  it('stop without an end when the reader has gone', async () => {
    const feed = createJobFeed<JobEvent>();
    feed.emit({ type: 'content', text: 'Hi' });
    const gone = new AbortController();
    const live = { feed, provider: null, finished: new Promise<Job>(() => undefined) };
    const seen: string[] = [];
    const send: SendEvents = (events) => {
      for (const { event = '' } of events) seen.push(event);
      gone.abort();
      return undefined;
    };
    await streamLive(
      createResponseStream(responsesJob.id),
      { job: responsesJob, live, finished: () => live.finished },
      { signal: gone.signal, send },
    );
    expect(seen.at(-1)).not.toMatch(/completed|failed/);
  });
});
