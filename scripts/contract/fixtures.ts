import { expectJson, expectThat } from './assertions.ts';
import { Mismatch } from './outcomes.ts';
import type { Answer, CallOptions } from './client.ts';
import { pngBase64 } from './picture.ts';
import { filledText, members, readRecord, type JsonRecord } from './shapes.ts';
import { textBound, type Sku, type Suite, type VideoSku } from './suite.ts';
import { toNano } from './usd.ts';

/** A SKU that no account has. */
export const noSku = 'contract-no-such-sku';
/** A valid UUID of nothing. */
export const noUuid = '00000000-0000-4000-8000-000000000000';

/** The create paths that the server has. */
export const createPaths = ({ serves }: Suite): string[] => [
  '/v1/images/generations',
  '/v1/chat/completions',
  '/v1/responses',
  ...(serves.videos ? ['/v1/videos'] : []),
];

/** The smallest body of each, without a model. */
export const leastBodies: Readonly<Record<string, JsonRecord>> = {
  '/v1/images/generations': { prompt: 'x' },
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'x' }] },
  '/v1/responses': { input: 'x' },
  '/v1/videos': { content: [{ type: 'text', text: 'x' }], duration: 4 },
};

export const pngUri = `data:image/png;base64,${pngBase64}`;

const found = <T>(value: T | null): T => {
  if (value === null) throw new Mismatch('the SKU for this check is missing');
  return value;
};

const imageSku = (suite: Suite): Sku => found(suite.image);
export const chatSku = (suite: Suite): Sku => found(suite.chat);
export const videoSku = (suite: Suite): VideoSku => found(suite.video);

export const imageBody = (suite: Suite, more: JsonRecord = {}): JsonRecord => ({
  model: imageSku(suite).id,
  prompt: 'A lighthouse at dusk.',
  ...more,
});

export const textLimit = 64;

export const chatBody = (suite: Suite, more: JsonRecord = {}): JsonRecord => ({
  model: chatSku(suite).id,
  messages: [{ role: 'user', content: 'Name one colour.' }],
  max_tokens: textLimit,
  ...more,
});

export const responseBody = (suite: Suite, more: JsonRecord = {}): JsonRecord => ({
  model: chatSku(suite).id,
  input: 'Name one colour.',
  max_output_tokens: textLimit,
  ...more,
});

export const videoSeconds = 4;

export const videoBody = (suite: Suite, more: JsonRecord = {}): JsonRecord => {
  const { id, resolution } = videoSku(suite);
  return {
    model: id,
    content: [{ type: 'text', text: 'Waves against a lighthouse.' }],
    duration: videoSeconds,
    resolution,
    ...more,
  };
};

/** Posts a request that may be charged. Its price is set aside first. */
export const postImage = (suite: Suite, path: string, options: CallOptions): Promise<Answer> => {
  suite.spend(toNano(imageSku(suite).pricing['price_usd']));
  return suite.call(path, options);
};

export const postChat = (suite: Suite, options: CallOptions): Promise<Answer> => {
  suite.spend(textBound(chatSku(suite), textLimit));
  return suite.call('/v1/chat/completions', options);
};

export const postResponse = (suite: Suite, options: CallOptions): Promise<Answer> => {
  suite.spend(textBound(chatSku(suite), textLimit));
  return suite.call('/v1/responses', options);
};

const pollEveryMs = 250;

/** Reads an address until its `status` is one of `ends`. Returns every state seen. */
const poll = async (
  suite: Suite,
  path: string,
  ends: readonly string[],
): Promise<{ last: JsonRecord; states: JsonRecord[] }> => {
  const deadline = performance.now() + suite.settings.jobTimeoutMs;
  const states: JsonRecord[] = [];
  for (;;) {
    const state = expectJson(await suite.call(path), 200);
    states.push(state);
    if (ends.includes(String(state['status']))) return { last: state, states };
    if (performance.now() > deadline)
      throw new Mismatch(
        `${path} is still ${String(state['status'])} after ${suite.settings.jobTimeoutMs / 1000} s`,
      );
    await new Promise((resolve) => setTimeout(resolve, pollEveryMs));
  }
};

export const endOfJob = async (suite: Suite, id: unknown): Promise<JsonRecord> =>
  (await poll(suite, `/v1/jobs/${String(id)}`, ['done', 'failed'])).last;

const statesOfJob = async (suite: Suite, id: unknown): Promise<JsonRecord[]> =>
  (await poll(suite, `/v1/jobs/${String(id)}`, ['done', 'failed'])).states;

const endOfVideo = async (suite: Suite, id: unknown): Promise<JsonRecord> =>
  (await poll(suite, `/v1/videos/${String(id)}`, ['completed', 'failed'])).last;

export const endOfResponse = async (suite: Suite, id: unknown): Promise<JsonRecord> =>
  (await poll(suite, `/v1/responses/${String(id)}`, ['completed', 'incomplete', 'failed'])).last;

const done = (job: JsonRecord, status: string): JsonRecord => {
  expectThat(job['status'] === status, `the job ended as ${JSON.stringify(job).slice(0, 300)}`);
  return job;
};

/** The custom_data of the asynchronous image that several checks use. */
export const customData = { order: 7301, nested: { list: [1, 'zwei', null], ünï: '☕' }, a: true };

/** Makes one asynchronous image. Returns the create answer, the states seen, and the end. */
export const asyncImage = (suite: Suite) =>
  suite.once('asynchronous image', async () => {
    const created = await postImage(suite, '/v1/images/generations?async=true', {
      body: imageBody(suite, { custom_data: customData }),
    });
    const { id } = readRecord(expectJson(created, 202), members({ id: filledText }), 'the queued job');
    const states = await statesOfJob(suite, id);
    return { created, states, job: done(states.at(-1) ?? {}, 'done') };
  });

/** Makes one image synchronously. */
export const syncImage = (suite: Suite) =>
  suite.once('synchronous image', async () => {
    const created = await postImage(suite, '/v1/images/generations', {
      body: imageBody(suite, { image: [], response_format: 'url' }),
    });
    const { id } = expectJson(created, 200);
    return { created, job: done(await endOfJob(suite, id), 'done') };
  });

/** Makes one JSON chat completion. */
export const completion = (suite: Suite) =>
  suite.once('chat completion', async () => {
    const answer = await postChat(suite, { body: chatBody(suite, { conversation_id: 'contract-1' }) });
    return { answer, body: expectJson(answer, 200) };
  });

/** Makes one JSON response. */
export const response = (suite: Suite) =>
  suite.once('response', async () => {
    const answer = await postResponse(suite, {
      body: responseBody(suite, { instructions: 'Answer in one word.', metadata: { ticket: '7301' } }),
    });
    return { answer, body: expectJson(answer, 200) };
  });

/**
 * Makes a video from creation to end. If the sandbox fails the prompt, it costs nothing. `during` is called while the
 * video is in progress.
 */
export const makeVideo = (
  suite: Suite,
  body: JsonRecord,
  during?: (id: string) => Promise<void>,
): Promise<{ created: Answer; video: JsonRecord }> =>
  suite.withVideoSlot(async () => {
    if (!JSON.stringify(body).includes('[sandbox:'))
      suite.spend(toNano(videoSku(suite).priceUsd) * BigInt(videoSeconds));
    const created = await suite.call('/v1/videos', { body });
    const id = String(expectJson(created, 202)['id']);
    await during?.(id);
    return { created, video: await endOfVideo(suite, id) };
  });

/** Makes one completed video with its last frame. Returns the create answer and the end. */
export const completedVideo = (suite: Suite) =>
  suite.once('video', async () => {
    const { created, video } = await makeVideo(suite, videoBody(suite, { return_last_frame: true }));
    return { created, video: done(video, 'completed') };
  });

/** Returns the whole content of that video. */
export const videoContent = (suite: Suite): Promise<Answer> =>
  suite.once('video content', async () => {
    const { video } = await completedVideo(suite);
    return suite.call(`/v1/videos/${String(video['id'])}/content`);
  });

/** Makes an image job that the sandbox fails. */
export const failedImage = (suite: Suite) =>
  suite.once('failed image', async () => {
    const answer = await suite.call('/v1/images/generations', {
      body: imageBody(suite, { prompt: 'A lighthouse. [sandbox:fail]' }),
    });
    const { id } = expectJson(answer, 200);
    return { answer, job: done(await endOfJob(suite, id), 'failed') };
  });

/** Creates a video that the sandbox fails, to read its defaults at no cost. */
export const failingVideo = async (suite: Suite, body: JsonRecord): Promise<JsonRecord> => {
  const content = Array.isArray(body['content']) ? (body['content'] as unknown[]) : [];
  const failing = { ...body, content: [{ type: 'text', text: 'Waves. [sandbox:fail]' }, ...content] };
  const { created } = await makeVideo(suite, failing);
  return expectJson(created, 202);
};

/** Returns the items that `isWanted` accepts from the newest pages of a history list, at most ten pages. */
export const findInHistory = async (
  suite: Suite,
  path: string,
  isWanted: (item: JsonRecord) => boolean,
): Promise<JsonRecord[]> => {
  const wanted: JsonRecord[] = [];
  let cursor: unknown = null;
  for (let page = 0; page < 10; page += 1) {
    const query = typeof cursor === 'string' ? `&cursor=${encodeURIComponent(cursor)}` : '';
    const { data, next_cursor: next } = expectJson(await suite.call(`${path}?limit=100${query}`), 200);
    wanted.push(...(Array.isArray(data) ? (data as JsonRecord[]).filter(isWanted) : []));
    if (typeof next !== 'string') break;
    cursor = next;
  }
  return wanted;
};
