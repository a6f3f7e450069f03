import { expectEqual, expectError, expectHeader, expectJson, expectThat } from '../assertions.ts';
import type { Check } from '../check.ts';
import { Skipped } from '../outcomes.ts';
import {
  chatBody,
  createPaths,
  findInHistory,
  imageBody,
  leastBodies,
  noSku,
  postChat,
  postImage,
  postResponse,
  responseBody,
  endOfJob,
  videoBody,
} from '../fixtures.ts';
import type { JsonRecord } from '../shapes.ts';
import type { Suite } from '../suite.ts';
import { parseData, readEvents } from './server-sent-events.ts';

const conflict = { status: 409, code: 'idempotency_conflict' };

/** Sends two different requests under one key and expects the second to be refused. */
const expectConflict = async (
  suite: Suite,
  path: string,
  bodies: readonly [JsonRecord, JsonRecord],
): Promise<void> => {
  const headers = { 'idempotency-key': suite.newKey() };
  await suite.call(path, { body: bodies[0], headers });
  const refused = await suite.call(path, { body: bodies[1], headers });
  expectError(refused, conflict);
  expectHeader(refused, 'x-should-retry', 'false');
};

/** A refusal by content policy costs nothing and keeps its key. */
const triggers = ['[sandbox:moderated] one', '[sandbox:moderated] two'] as const;

export const idempotencyChecks: readonly Check[] = [
  {
    id: 'IDEM-1',
    title: 'the same key and request answer the same job, which is charged once',
    needs: ['image'],
    run: async (suite) => {
      const request = {
        body: imageBody(suite, { prompt: 'A pier.' }),
        headers: { 'idempotency-key': suite.newKey() },
      };
      const path = '/v1/images/generations?async=true';
      const first = expectJson(await postImage(suite, path, request), 202);
      const again = await suite.call(path, request);
      expectEqual(expectJson(again, 200, 202)['id'], first['id'], 'the id');
      expectHeader(again, 'idempotent-replayed', 'true');
      await endOfJob(suite, first['id']);
      expectEqual(
        expectJson(await suite.call(path, request), 200, 202)['id'],
        first['id'],
        'the id after its end',
      );
      const debits = await findInHistory(
        suite,
        '/v1/transactions',
        ({ job_id: jobId }) => jobId === first['id'],
      );
      expectEqual(debits.length, 1, 'the number of debits');
    },
  },
  {
    id: 'IDEM-2',
    title: 'the same key with another image request is 409 with X-Should-Retry: false',
    needs: ['image', 'sandbox'],
    run: (suite) =>
      expectConflict(suite, '/v1/images/generations?async=true', [
        imageBody(suite, { prompt: triggers[0] }),
        imageBody(suite, { prompt: triggers[1] }),
      ]),
  },
  {
    id: 'IDEM-3',
    title: 'the same for chat completions',
    needs: ['chat', 'sandbox'],
    run: (suite) =>
      expectConflict(suite, '/v1/chat/completions', [
        chatBody(suite, { messages: [{ role: 'user', content: triggers[0] }] }),
        chatBody(suite, { messages: [{ role: 'user', content: triggers[1] }] }),
      ]),
  },
  {
    id: 'IDEM-4',
    title: 'the same for responses',
    needs: ['chat', 'sandbox'],
    run: (suite) =>
      expectConflict(suite, '/v1/responses', [
        responseBody(suite, { input: triggers[0] }),
        responseBody(suite, { input: triggers[1] }),
      ]),
  },
  {
    id: 'IDEM-5',
    title: 'the same for videos',
    needs: ['video', 'sandbox'],
    run: (suite) =>
      suite.withVideoSlot(() =>
        expectConflict(suite, '/v1/videos', [
          videoBody(suite, { content: [{ type: 'text', text: triggers[0] }] }),
          videoBody(suite, { content: [{ type: 'text', text: triggers[1] }] }),
        ]),
      ),
  },
  {
    id: 'IDEM-6',
    title: 'every create call accepts a key of 255 characters',
    run: async (suite) => {
      const headers = { 'idempotency-key': 'k'.repeat(255) };
      for (const path of createPaths(suite))
        expectError(await suite.call(path, { body: { ...leastBodies[path], model: noSku }, headers }), {
          status: 400,
          code: 'model_not_found',
        });
    },
  },
  {
    id: 'IDEM-7',
    title: 'an empty key, or one of more than 255 characters, is 422',
    needs: ['image'],
    run: async (suite) => {
      const body = imageBody(suite, { prompt: '[sandbox:fail]' });
      for (const key of ['', 'k'.repeat(256)])
        expectError(
          await suite.call('/v1/images/generations?async=true', {
            body,
            headers: { 'idempotency-key': key },
          }),
          { status: 422, code: 'invalid_parameter' },
        );
    },
  },
  {
    id: 'IDEM-8',
    title: 'a chat is replayed as JSON or as a stream, as the repeated request asks',
    needs: ['chat'],
    run: async (suite) => {
      const headers = { 'idempotency-key': suite.newKey() };
      const body = chatBody(suite);
      const first = await postChat(suite, { body, headers });
      const completion = expectJson(first, 200);
      const again = await suite.call('/v1/chat/completions', { body, headers });
      expectEqual(expectJson(again, 200), completion, 'the replayed completion');
      expectHeader(again, 'idempotent-replayed', 'true');
      const streamed = await suite.call('/v1/chat/completions', {
        body: { ...body, stream: true },
        headers,
      });
      const chunks = readEvents(streamed)
        .slice(0, -1)
        .map((event) => parseData(event) as JsonRecord);
      expectEqual(chunks[0]?.['id'], completion['id'], 'the id of the replayed stream');
      expectEqual(chunks.at(-1)?.['usage'], completion['usage'], 'its usage');
    },
  },
  {
    id: 'IDEM-9',
    title: 'a response is replayed as JSON or as a stream, as the repeated request asks',
    needs: ['chat'],
    run: async (suite) => {
      const headers = { 'idempotency-key': suite.newKey() };
      const body = responseBody(suite);
      const first = expectJson(await postResponse(suite, { body, headers }), 200);
      const again = await suite.call('/v1/responses', { body, headers });
      expectEqual(expectJson(again, 200), first, 'the replayed response');
      expectHeader(again, 'idempotent-replayed', 'true');
      const streamed = await suite.call('/v1/responses', { body: { ...body, stream: true }, headers });
      const last = parseData(readEvents(streamed).at(-1) ?? { event: null, data: '' }) as JsonRecord;
      expectEqual(last['response'], first, 'the response of the replayed stream');
    },
  },
  {
    id: 'IDEM-10',
    title: 'two simultaneous requests under one key create one job',
    needs: ['chat'],
    run: async (suite) => {
      const request = { body: chatBody(suite), headers: { 'idempotency-key': suite.newKey() } };
      const [one, two] = await Promise.all([
        postChat(suite, request),
        suite.call('/v1/chat/completions', request),
      ]);
      expectEqual(expectJson(one, 200)['id'], expectJson(two, 200)['id'], 'the ids');
      const replayed = [one, two].filter(({ headers }) => headers.get('idempotent-replayed') === 'true');
      expectEqual(replayed.length, 1, 'how many are marked as replayed');
    },
  },
  {
    id: 'IDEM-11',
    title: 'keys belong to one account and one endpoint',
    needs: ['chat', 'other_key'],
    run: async (suite) => {
      const headers = { 'idempotency-key': suite.newKey() };
      const failing = '[sandbox:fail]';
      const body = chatBody(suite, { messages: [{ role: 'user', content: failing }] });
      const mine = await postChat(suite, { body, headers });
      const theirs = await suite.call('/v1/chat/completions', {
        body,
        headers,
        key: suite.settings.otherKey,
      });
      if (theirs.status === 402) throw new Skipped('the account of --other-key has no money');
      const idOf = (answer: { headers: Headers }) => expectHeader(answer, 'x-chat-completion-id');
      expectThat(idOf(mine) !== idOf(theirs), 'two accounts share a job');
      const elsewhere = await postResponse(suite, {
        body: responseBody(suite, { input: failing }),
        headers,
      });
      expectThat(elsewhere.status !== 409, 'a key of one endpoint is taken at another');
    },
  },
];
