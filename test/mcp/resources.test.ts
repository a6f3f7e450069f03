import { randomBytes, randomUUID } from 'node:crypto';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientKinds, type TestClient } from './clients.ts';
import { openAccount } from './open-account.ts';
import { makeMedium, refusalOf, type Refusal } from './make-medium.ts';
import { startGateway, type TestGateway } from './start-gateway.ts';

const imageInput = { model: 'imagemodel-1.0', prompt: 'a lighthouse at dusk' };

let gateway: TestGateway;
let other: { apiKey: string; accountId: string; keyId: string };

beforeAll(async () => {
  gateway = await startGateway({ env: { REQUESTS_PER_MINUTE: '1000000' } });
  other = await openAccount(gateway.services);
});
afterAll(() => gateway.close());

const contentOf = (videoId: string): string => `${gateway.url}/v1/videos/${videoId}/content`;

/** A refusal without the URI that it repeats. */
const withoutUri = (refusal: Refusal, uri: string) => ({
  code: refusal.code,
  message: refusal.message.replace(uri, ''),
});

describe.each(clientKinds)('$name', ({ connect }) => {
  const using = async <T>(
    apiKey: string | null,
    use: (client: TestClient) => Promise<T>,
    path = '/mcp',
  ): Promise<T> => {
    const client = await connect(`${gateway.url}${path}`, apiKey);
    try {
      return await use(client);
    } finally {
      await client.close();
    }
  };
  const reading = (uri: string, apiKey: string | null = gateway.apiKey) =>
    using(apiKey, (client) => client.readResource(uri));

  it('lists the models and the newest jobs, and the templates of the rest', async () => {
    const { apiKey } = await openAccount(gateway.services);
    await using(apiKey, async (client) => {
      expect(await client.listResources()).toMatchObject([
        { uri: 'causeway://models' },
        { uri: 'causeway://search/facets' },
      ]);
      const made = await client.callTool('create_image', imageInput);
      const id = String(made.structuredContent?.['id']);
      expect(await client.listResources()).toEqual([
        {
          uri: 'causeway://models',
          name: 'models',
          title: 'Models and prices',
          mimeType: 'application/json',
        },
        { uri: `causeway://jobs/${id}`, name: id, title: 'image job, done', mimeType: 'application/json' },
        expect.objectContaining({ uri: 'causeway://search/facets' }),
      ]);
      expect((await client.listResourceTemplates()).map(({ uriTemplate }) => uriTemplate)).toEqual([
        'causeway://models/{model}',
        'causeway://jobs/{job_id}',
        `${gateway.url}/results/{name}`,
        `${gateway.url}/v1/videos/{video_id}/content{?variant}`,
      ]);
    });
  });

  it('reads models and jobs as the tools answer them', async () => {
    await using(gateway.apiKey, async (client) => {
      const models = (await client.callTool('list_models')).structuredContent as { data: { id: string }[] };
      const [read] = await client.readResource('causeway://models');
      expect(read).toMatchObject({ uri: 'causeway://models', mimeType: 'application/json' });
      expect(JSON.parse(read?.text ?? '')).toEqual(models);
      const [model] = await client.readResource(`causeway://models/${models.data[1]?.id}`);
      expect(JSON.parse(model?.text ?? '')).toEqual(models.data[1]);

      const made = await client.callTool('create_image', imageInput);
      const id = String(made.structuredContent?.['id']);
      const [job] = await client.readResource(`causeway://jobs/${id}`);
      expect(JSON.parse(job?.text ?? '')).toEqual(
        (await client.callTool('get_job', { job_id: id })).structuredContent,
      );
    });
  });

  it('reads the image that a tool linked, byte for byte, with its type', async () => {
    await using(gateway.apiKey, async (client) => {
      const made = await client.callTool('create_image', imageInput);
      const link = made.content.find(({ type }) => type === 'resource_link');
      const [image, ...more] = await client.readResource(link?.uri ?? '');
      expect(more).toEqual([]);
      expect(image).toMatchObject({ uri: link?.uri, mimeType: 'image/png' });
      const bytes = Buffer.from(image?.blob ?? '', 'base64');
      expect(bytes.subarray(1, 4).toString()).toBe('PNG');
      const [row] = await gateway.services.store.listMedia(String(made.structuredContent?.['id']));
      expect(bytes).toHaveLength(row?.sizeBytes ?? 0);
    });
  });

  it('reads the content of a video, and of its last frame', async () => {
    const bytes = randomBytes(1_000);
    const video = await makeMedium(gateway, {
      kind: 'video',
      role: 'video',
      contentType: 'video/mp4',
      bytes,
    });
    const frame = await makeMedium(gateway, {
      kind: 'video',
      role: 'last_frame',
      contentType: 'image/jpeg',
      bytes,
    });
    for (const [uri, mimeType] of [
      [contentOf(video.jobId), 'video/mp4'],
      [`${contentOf(video.jobId.toUpperCase())}?variant=video`, 'video/mp4'],
      [`${contentOf(frame.jobId)}?variant=last_frame`, 'image/jpeg'],
    ] as const)
      expect(await reading(uri)).toEqual([{ uri, mimeType, blob: bytes.toString('base64') }]);
  });

  it('finds what is another account’s as little as what is not there', async () => {
    const owner = { accountId: other.accountId, keyId: other.keyId };
    const image = await makeMedium(gateway, { owner });
    const video = await makeMedium(gateway, {
      owner,
      kind: 'video',
      role: 'video',
      contentType: 'video/mp4',
    });
    const expired = await makeMedium(gateway, { owner, expiresAt: Date.now() - 1 });
    const absentImage = `${gateway.url}/results/${'a'.repeat(43)}.png`;
    const pairs = [
      [image.url, absentImage],
      [expired.url, absentImage],
      [contentOf(video.jobId), contentOf(randomUUID())],
      [`causeway://jobs/${image.jobId}`, `causeway://jobs/${randomUUID()}`],
    ] as const;
    for (const [theirs, absent] of pairs) {
      const refusal = withoutUri(await refusalOf(reading(theirs)), theirs);
      expect(refusal.message).toContain('Resource not found');
      expect(refusal).toEqual(withoutUri(await refusalOf(reading(absent)), absent));
      // Its owner reads it, but for what is over.
      if (theirs !== expired.url) expect(await reading(theirs, other.apiKey)).toHaveLength(1);
    }
    const listed = await using(gateway.apiKey, (client) => client.listResources());
    expect(JSON.stringify(listed)).not.toContain(image.jobId);
  });

  it('without a key has the facets of the search alone, and tells how to get a key for the rest', async () => {
    const { url } = await makeMedium(gateway);
    await using(null, async (client) => {
      expect(await client.listResources()).toMatchObject([{ uri: 'causeway://search/facets' }]);
      expect(await client.listResourceTemplates()).toEqual([]);
      const [facets] = await client.readResource('causeway://search/facets');
      expect(JSON.parse(String(facets?.text))).toMatchObject({ countries: expect.any(Array) });
    });
    for (const uri of ['causeway://models', url, 'causeway://jobs/x'])
      expect(await refusalOf(reading(uri, null))).toMatchObject({
        message: expect.stringMatching(/needs an API key\. .*Authorization: Bearer/),
        data: { error: { code: 'invalid_api_key' } },
      });
  });

  it('finds nothing under any other address', async () => {
    const { url, jobId } = await makeMedium(gateway);
    const reserved = await gateway.services.media.save({
      accountId: gateway.accountId,
      role: 'image',
      contentType: 'image/png',
      source: randomBytes(8),
      signal: new AbortController().signal,
    });
    const input = await makeMedium(gateway, { role: 'input' });
    for (const uri of [
      'causeway://',
      'causeway://balance',
      'causeway://models/',
      'causeway://models/nope',
      'causeway://models/%E0%A4%A',
      'causeway://jobs',
      'causeway://jobs/..%2F..',
      `causeway://jobs/${jobId}/results`,
      'file:///etc/passwd',
      'http://127.0.0.1:1/results/x.png',
      url.replace('.png', '.jpg'),
      `${url}?x=1`,
      url.replace('/results/', '/results//'),
      `${gateway.url}/results/../../etc/passwd`,
      `${gateway.url}/v1/balance`,
      contentOf('-'.repeat(36)),
      contentOf(jobId),
      `${contentOf(jobId)}?variant=input`,
      reserved.url,
      input.url,
    ])
      expect([uri, (await refusalOf(reading(uri))).message]).toEqual([
        uri,
        expect.stringContaining('Resource not found'),
      ]);
  });
});

describe('the list of resources', () => {
  it('has the twenty newest jobs, however many there are', async () => {
    const { apiKey, ...owner } = await openAccount(gateway.services);
    const ids: string[] = [];
    for (let index = 0; index < 21; index += 1)
      ids.unshift(
        (await makeMedium(gateway, { owner: { accountId: owner.accountId, keyId: owner.keyId } })).jobId,
      );
    const client = await clientKinds.at(-1)!.connect(`${gateway.url}/mcp`, apiKey);
    const listed = await client.listResources();
    await client.close();
    const jobs = await gateway.services.store.listJobs({
      accountId: owner.accountId,
      limit: 100,
      before: null,
    });
    expect(jobs.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
    expect(listed.slice(1, -1).map(({ name }) => name)).toEqual(jobs.slice(0, 20).map(({ id }) => id));
  });

  it('has nothing of the account for searches', async () => {
    const client = await clientKinds.at(-1)!.connect(`${gateway.url}/mcp/search`, gateway.apiKey);
    expect((await client.listResources()).map(({ name }) => name)).toEqual(['search-facets']);
    await expect(client.readResource('causeway://models')).rejects.toThrow(/not found/i);
    await client.close();
  });
});

describe('an address of any kind', () => {
  it('is never a fault', async () => {
    const client = await clientKinds.at(-1)!.connect(`${gateway.url}/mcp`, gateway.apiKey);
    const start = fc.constantFrom(
      '',
      'causeway://',
      'causeway://jobs/',
      'causeway://models/',
      `${gateway.url}/results/`,
      `${gateway.url}/v1/videos/`,
    );
    const rest = fc.oneof(fc.webPath(), fc.string(), fc.uuid(), fc.base64String({ minLength: 20 }));
    const end = fc.constantFrom('', '.png', '/content', '/content?variant=last_frame');
    await fc.assert(
      fc.asyncProperty(start, rest, end, async (...parts) => {
        const { code } = await refusalOf(client.readResource(parts.join('')));
        expect(code).toBe(-32_602);
      }),
      { numRuns: 100 },
    );
    await client.close();
  });
});

describe('every list and every reading', () => {
  it('counts as a call of the account', async () => {
    const { apiKey, accountId, keyId } = await openAccount(gateway.services);
    const { url, jobId } = await makeMedium(gateway, { owner: { accountId, keyId } });
    await gateway.services.store.setAccountTerms({ id: accountId, terms: '{"requests_per_minute":5}' });
    const client = await clientKinds[0]!.connect(`${gateway.url}/mcp`, apiKey);
    await client.listResources();
    await client.readResource('causeway://models');
    await client.readResource(`causeway://jobs/${jobId}`);
    await client.readResource(url);
    await client.readResource(url);
    for (const uri of [url, 'causeway://models', contentOf(jobId)])
      expect(await refusalOf(client.readResource(uri))).toMatchObject({
        code: -32_603,
        data: { error: { code: 'rate_limit_exceeded', retry_after_seconds: expect.any(Number) } },
      });
    await client.close();
  });
});
