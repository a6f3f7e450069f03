import { newId } from '../../src/kit/ids.ts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { imageEvent } from '../../src/operations/images/image-examples.ts';
import { operations } from '../operations/test-operations.ts';
import {
  createAnswerCheck,
  createCompiler,
  type CheckedAnswer,
  type Description,
  type DescribedCall,
} from './interface-description.ts';
import { startTestGateway, type TestGateway } from './start-test-gateway.ts';

let gateway: TestGateway;
let document: Description;

beforeAll(async () => {
  gateway = await startTestGateway({ environment: { SEARCH_MAX_LIMIT: '50' } });
  document = (await (await gateway.call('/openapi.json', { apiKey: null })).json()) as Description;
});

afterAll(async () => {
  await gateway.stop();
});

const itemOf = (path: string, method: string): DescribedCall => {
  const item = document.paths[path]?.[method];
  if (item === undefined) throw new Error(`${method} ${path} is not in the document`);
  return item;
};

const allItems = (): DescribedCall[] =>
  [...Object.values(document.paths), ...Object.values(document.webhooks)].flatMap((methods) =>
    Object.values(methods),
  );

/** A connection of the first account. Returns its id. */
const addConnection = async ({ services: { store } }: TestGateway, parentId: string): Promise<string> => {
  const [account] = await store.listAccounts({ limit: 1 });
  const id = newId();
  await store.createConnection({
    id,
    accountId: account!.id,
    parentId,
    grantId: id,
    scopes: ['read'],
    servers: [],
    resource: '/mcp/account',
    client: { id: 'https://claude.ai/client.json', name: 'Claude', redirect: 'claude.ai' },
    label: 'claude.ai',
    limits: { budgetDay: 5_000_000_000n },
    askAbove: null,
    now: Date.now(),
  });
  return id;
};

describe('the schemas', () => {
  it('hold for the real answers of a gateway', async () => {
    const checkAnswer = createAnswerCheck(gateway, document);
    const templates = new Set<string>();
    const check: typeof checkAnswer = (template, options) => {
      templates.add(template);
      return checkAnswer(template, options);
    };
    const done: CheckedAnswer[] = [];
    for (const path of ['/v1/balance', '/v1/whoami', '/v1/usage', '/v1/models'])
      done.push(await check(path, { status: 200 }));
    done.push(await check('/v1/models/{model}', { path: '/v1/models/imagemodel-1.0', status: 200 }));

    const images = '/v1/images/generations';
    const drawing = { model: 'imagemodel-1.0', prompt: 'A pier.', custom_data: { order: 1 } };
    const queued = await check(images, { path: `${images}?async=true`, body: drawing, status: 202 });
    const drawn = await check(images, { body: drawing, status: 200 });
    done.push(await check(images, { body: { ...drawing, prompt: '[sandbox:moderated]' }, status: 200 }));

    const chats = '/v1/chat/completions';
    const chat = { messages: [{ role: 'user', content: 'Name one colour.' }] };
    const completion = await check(chats, { body: chat, status: 200 });
    const chunks = await check(chats, { body: { ...chat, stream: true }, status: 200 });
    const receipt = { path: `/v1/receipts/${drawn.id}`, status: 200 };
    done.push(await check('/v1/receipts/{receipt_id}', receipt));
    done.push(await check('/v1/statement', { status: 200 }));
    await check('/v1/statement', { path: '/v1/statement?format=csv', status: 200 });
    for (const { id } of [queued, drawn, completion])
      done.push(await check('/v1/jobs/{job_id}', { path: `/v1/jobs/${id}`, status: 200 }));

    const responses = '/v1/responses';
    const asked = { input: 'Name one colour.' };
    const response = await check(responses, { body: asked, status: 200 });
    const events = await check(responses, { body: { ...asked, stream: true }, status: 200 });
    done.push(await check('/v1/jobs/{job_id}', { path: `/v1/jobs/${response.id}`, status: 200 }));
    const path = `${responses}/${response.id}`;
    done.push(await check('/v1/responses/{response_id}', { path, status: 200 }));

    const film = { model: 'videomodel-2.0', prompt: '[sandbox:fail]', duration: 4, resolution: '480p' };
    const video = await check('/v1/videos', { body: film, status: 202 });
    done.push(await check('/v1/videos/{video_id}', { path: `/v1/videos/${video.id}`, status: 200 }));
    const limits = { budget_day_usd: '5', models: ['imagemodel-1.0'] };
    const key = await check('/v1/keys', { body: limits, status: 200 });
    const keyCall = { path: `/v1/keys/${key.id}`, status: 200 };
    for (const call of [{}, { body: { budget_day_usd: null } }, { method: 'DELETE' }])
      done.push(await check('/v1/keys/{key_id}', { ...keyCall, ...call }));
    done.push(await check('/v1/search/facets', { apiKey: null, status: 200 }));
    const connection = await addConnection(gateway, key.id);
    done.push(
      await check('/v1/connections/{connection_id}', {
        path: `/v1/connections/${connection}`,
        method: 'DELETE',
        status: 200,
      }),
    );
    const hook = { url: 'https://shop.example/hook' };
    const sent = await check('/v1/webhooks/test', { body: hook, status: 200 });
    const { event_id: eventId } = JSON.parse(sent.text) as { event_id: string };
    done.push(sent);
    const redelivery = '/v1/webhooks/deliveries/{event_id}/redeliver';
    const ofEvent = redelivery.replace('{event_id}', eventId);
    done.push(await check(redelivery, { path: ofEvent, method: 'POST', status: 200 }));
    done.push(await check('/v1/webhooks/secret/rotate', { method: 'POST', status: 200 }));
    const alert = { low_balance_usd: '5', url: 'https://shop.example/hook' };
    for (const call of [{}, { method: 'PUT', body: alert }])
      done.push(await check('/v1/alerts', { ...call, status: 200 }));
    for (const list of [
      '/v1/jobs',
      '/v1/transactions',
      '/v1/keys',
      '/v1/connections',
      '/v1/webhooks/deliveries',
    ])
      done.push(await check(list, { path: `${list}?limit=2`, status: 200 }));
    expect(new Set(done.map(({ name }) => name)).size).toBe(23);
    // A search is paid elsewhere, and bytes are looked at below.
    const others = ['/v1/search', '/v1/videos/{video_id}/content', '/results/{name}', '/films/{token}'];
    expect([...templates, ...others].toSorted()).toEqual(Object.keys(document.paths).toSorted());

    const compile = createCompiler(document);
    for (const [{ text }, name] of [
      [chunks, 'ChatCompletionChunk'],
      [events, 'ResponseStreamEvent'],
    ] as const) {
      const sent = [...text.matchAll(/^data: (\{.*)$/gm)].map(([, data = '']): unknown => JSON.parse(data));
      expect(sent.length).toBeGreaterThan(3);
      const validate = compile({ $ref: `#/components/schemas/${name}` });
      expect(sent.flatMap((event) => (validate(event) ? [] : [event, validate.errors]))).toEqual([]);
    }
  });

  it('hold for what is answered as bytes, and for its refusals', async () => {
    const check = createAnswerCheck(gateway, document);
    const body = { model: 'videomodel-2.0', prompt: 'A pier.', duration: 4, resolution: '480p' };
    const { id } = await check('/v1/videos', { body, status: 202 });
    const content = '/v1/videos/{video_id}/content';
    await check(content, { path: `/v1/videos/${id}/content`, status: 409 });
    const film = await vi.waitFor(
      async () => {
        const { text } = await check('/v1/videos/{video_id}', { path: `/v1/videos/${id}`, status: 200 });
        expect(text).toContain('"status":"completed"');
        return (JSON.parse(text) as { film_url: string }).film_url;
      },
      { timeout: 60_000, interval: 100 },
    );
    const drawing = { model: 'imagemodel-1.0', prompt: 'A pier.' };
    const { text } = await check('/v1/images/generations', { body: drawing, status: 200 });
    const [{ url }] = (JSON.parse(text) as { data: [{ url: string }] }).data;
    for (const [template, path] of [
      [content, `/v1/videos/${id}/content`],
      ['/results/{name}', new URL(url).pathname],
      ['/films/{token}', new URL(film).pathname],
    ] as const) {
      const etag = (await gateway.call(path, { method: 'HEAD' })).headers.get('etag') ?? '';
      await check(template, { path, status: 200 });
      await check(template, { path, headers: { range: 'bytes=0-9' }, status: 206 });
      await check(template, { path, headers: { 'if-none-match': etag }, status: 304 });
      await check(template, { path, headers: { range: 'bytes=9-0' }, status: 416 });
    }
    await check('/results/{name}', { path: '/results/none.png', status: 404 });
    await check('/films/{token}', { path: '/films/none', status: 404 });
  });

  it('hold for the real refusals of a gateway', async () => {
    const check = createAnswerCheck(gateway, document);
    const done: CheckedAnswer[] = [];
    const refuse = async (...call: Parameters<typeof check>): Promise<void> => {
      done.push(await check(...call));
    };
    for (const path of [
      '/v1/balance',
      '/v1/whoami',
      '/v1/usage',
      '/v1/jobs',
      '/v1/transactions',
      '/v1/models',
    ])
      await refuse(path, { apiKey: null, status: 401 });
    const reads: [template: string, path: string, status: number][] = [
      ['/v1/usage', '/v1/usage?from=2026-02-01&to=2026-01-01', 400],
      ['/v1/usage', '/v1/usage?from=never', 422],
      ['/v1/jobs', '/v1/jobs?cursor=x', 400],
      ['/v1/jobs', '/v1/jobs?limit=0', 422],
      ['/v1/jobs/{job_id}', '/v1/jobs/none', 404],
      ['/v1/models/{model}', '/v1/models/none', 404],
      ['/v1/responses/{response_id}', '/v1/responses/resp_none', 422],
      ['/v1/responses/{response_id}', `/v1/responses/resp_${crypto.randomUUID()}`, 404],
      ['/v1/videos/{video_id}', '/v1/videos/none', 404],
      ['/v1/videos/{video_id}/content', '/v1/videos/none/content', 404],
      ['/v1/search', '/v1/search?limit=0', 422],
      ['/v1/keys', '/v1/keys?cursor=x', 400],
      ['/v1/keys/{key_id}', '/v1/keys/none', 404],
      ['/v1/connections', '/v1/connections?cursor=x', 400],
      ['/v1/receipts/{receipt_id}', '/v1/receipts/none', 404],
      ['/v1/statement', '/v1/statement?cursor=x', 400],
      ['/v1/statement', '/v1/statement?month=x', 422],
      ['/v1/webhooks/deliveries', '/v1/webhooks/deliveries?cursor=x', 400],
    ];
    for (const [template, path, status] of reads) await refuse(template, { path, status });
    const connection = '/v1/connections/{connection_id}';
    await refuse(connection, { path: '/v1/connections/none', method: 'DELETE', status: 404 });
    await refuse('/v1/webhooks/deliveries/{event_id}/redeliver', {
      path: '/v1/webhooks/deliveries/none/redeliver',
      method: 'POST',
      status: 404,
    });
    await refuse('/v1/webhooks/test', { body: { url: 'none' }, status: 422 });
    await refuse('/v1/alerts', { method: 'PUT', body: { url: 'none' }, status: 422 });
    await refuse('/v1/webhooks/secret/rotate', { method: 'POST', apiKey: 'wrong', status: 401 });

    const chats = '/v1/chat/completions';
    const creates: [path: string, body: object][] = [
      ['/v1/images/generations', { model: 'imagemodel-1.0', prompt: 'x' }],
      [chats, { messages: [{ role: 'user', content: '[sandbox:fail]' }] }],
      ['/v1/responses', { input: '[sandbox:fail]' }],
      ['/v1/videos', { model: 'videomodel-2.0', prompt: '[sandbox:fail]', duration: 4 }],
    ];
    for (const [path, body] of creates) {
      await refuse(path, { body: '{', status: 400 });
      await refuse(path, { body: { ...body, model: 'none' }, status: 400 });
      await refuse(path, { body: [], status: 422 });
      await refuse(path, { body, apiKey: 'wrong', status: 401 });
      await refuse(path, { body, headers: { 'content-encoding': 'gzip' }, status: 415 });
      const headers = { 'idempotency-key': 'one' };
      // A failure would free the key.
      const kept = JSON.parse(JSON.stringify(body).replace('[sandbox:fail]', '[sandbox:moderated]'));
      await gateway.call(path, { body: kept, headers });
      const other = { ...kept, seed: 7, temperature: 0.5, aspect_ratio: '1:1' };
      await refuse(path, { body: other, headers, status: 409 });
    }
    await refuse('/v1/responses', { body: { input: '[sandbox:fail]' }, status: 502 });
    for (const [word, status] of [
      ['fail', 502],
      ['moderated', 400],
      ['rate_limit', 429],
    ] as const)
      await refuse(chats, { body: { messages: [{ role: 'user', content: `[sandbox:${word}]` }] }, status });
    expect(new Set(done.map(({ name }) => name)).size).toBeGreaterThan(30);
    const refused = new Set(done.map(({ name }) => name.replace(/ \d+$/, '')));
    expect([...refused, '/results/{name}', '/films/{token}', '/v1/search/facets'].toSorted()).toEqual(
      Object.keys(document.paths).toSorted(),
    );
  });
});

describe('the examples', () => {
  it.each<[template: string, path: string, body?: object]>([
    ['/v1/search', '/v1/search?gender=x'],
    ['/v1/models/{model}', `/v1/models/${'x'.repeat(129)}`],
    ['/v1/usage', '/v1/usage?from=x'],
    ['/v1/keys', '/v1/keys', { budget_day_usd: '-5' }],
    ['/v1/keys/{key_id}', `/v1/keys/${'x'.repeat(129)}`],
    ['/v1/jobs', '/v1/jobs?limit=101'],
    ['/v1/transactions', '/v1/transactions?limit=101'],
    ['/v1/jobs/{job_id}', `/v1/jobs/${'x'.repeat(129)}`],
    ['/v1/chat/completions', '/v1/chat/completions', {}],
    ['/v1/responses', '/v1/responses', {}],
    ['/v1/responses/{response_id}', '/v1/responses/none'],
    ['/v1/images/generations', '/v1/images/generations', { model: 'imagemodel-1.0' }],
    ['/v1/videos', '/v1/videos', { model: 'videomodel-2.0', resolution: '8k' }],
    ['/v1/videos/{video_id}', `/v1/videos/${'x'.repeat(129)}`],
    ['/v1/videos/{video_id}/content', '/v1/videos/none/content?variant=x'],
  ])('of a wrong field of %s is what the gateway answers', async (template, path, body) => {
    const answer = await gateway.call(path, body === undefined ? {} : { body });
    const described = itemOf(template, body === undefined ? 'get' : 'post').responses['422'];
    const example = described?.content?.['application/json']?.examples?.['invalid_parameter'];
    expect([answer.status, await answer.json()]).toEqual([422, example?.value]);
  });

  it('of what is not there is what the gateway answers', async () => {
    const example = (template: string): unknown =>
      itemOf(template, 'get').responses['404']?.content?.['application/json']?.examples;
    for (const [template, path] of [
      ['/v1/models/{model}', '/v1/models/none'],
      ['/v1/jobs/{job_id}', '/v1/jobs/none'],
      ['/v1/responses/{response_id}', `/v1/responses/resp_${crypto.randomUUID()}`],
      ['/v1/videos/{video_id}', '/v1/videos/none'],
      ['/v1/videos/{video_id}/content', '/v1/videos/none/content'],
      ['/results/{name}', '/results/none.png'],
      ['/films/{token}', '/films/none'],
      ['/v1/keys/{key_id}', '/v1/keys/none'],
    ] as const) {
      const answer = (await (await gateway.call(path)).json()) as { error: { code: string } };
      expect([path, example(template)]).toEqual([path, { [answer.error.code]: { value: answer } }]);
    }
  });

  it('are there for every operation', () => {
    for (const { name, docs } of operations) expect([name, docs.examples.length]).not.toEqual([name, 0]);
  });

  it.each(operations.map((operation) => [operation.name, operation] as const))(
    'of %s are right by its schemas',
    (_name, { input, output, rest, docs }) => {
      for (const { parameters, body, answer, stream } of docs.examples) {
        expect(input.safeParse({ ...body, ...parameters }).error).toBeUndefined();
        if (answer === null) expect(stream !== undefined || rest.content !== undefined).toBe(true);
        else expect(output.safeParse(answer).error).toBeUndefined();
      }
    },
  );

  it('are right by the schemas of the document, requests, answers and refusals alike', () => {
    const compile = createCompiler(document);
    let checked = 0;
    for (const { operationId, requestBody, responses } of allItems())
      for (const content of [
        requestBody?.content,
        ...Object.values(responses).map((answer) => answer.content),
      ])
        for (const { schema, examples } of Object.values(content ?? {})) {
          if (schema === undefined) continue;
          const check = compile(schema);
          for (const [name, { value }] of Object.entries(examples ?? {})) {
            check(value);
            expect(check.errors, `${operationId}: ${name}`).toBeNull();
            checked += 1;
          }
        }
    expect(checked).toBeGreaterThan(50);
    expect(imageEvent.example['event_id']).not.toBe(imageEvent.example['id']);
  });
});
