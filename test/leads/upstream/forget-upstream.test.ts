import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createForgetUpstream } from '../../../src/leads/upstream/forget-upstream.ts';
import { readHttpSettings } from './read-http-settings.ts';
import { startStubService, type StubService } from './stub-service.ts';

let service: StubService;

beforeEach(async () => {
  service = await startStubService({ kind: 'json', value: {} });
});
afterEach(() => service.close());

const forget = (settings: object, usernames: readonly string[]): Promise<boolean> => {
  const source = readHttpSettings({ url: service.origin, headers: { 'x-key': 'k' }, forget: settings });
  return createForgetUpstream(async () => source)(usernames);
};

describe('the deletion of forgotten people in a service', () => {
  it('names up to a thousand of them in one request, by their keys', async () => {
    const people = Array.from({ length: 2_001 }, (_, place) => `Person_${place}`);
    await forget({ url: `${service.origin}/gone`, body: { ids: '{username_keys}', note: '$&' } }, people);
    const how = service.requests.map(({ method, headers }) => `${method} ${String(headers['x-key'])}`);
    expect(how).toEqual(['POST k', 'POST k', 'POST k']);
    const bodies = service.requests.map(({ body }) => body as { ids: string[]; note: string });
    expect(bodies.flatMap(({ ids }) => ids)).toEqual(people.map((name) => name.toLowerCase()));
    expect(bodies.map(({ ids }) => ids.length)).toEqual([1_000, 1_000, 1]);
    expect(bodies[0]?.note).toBe('$&');
  });

  it('may be a request for each of them, which may find nobody', async () => {
    service.answer({ kind: 'json', status: 404, value: {} });
    await forget({ url: `${service.origin}/p/{username_key}` }, ['Ann', 'b/o?b']);
    expect(service.requests.map(({ method, url, body }) => [method, url.pathname, body])).toEqual([
      ['DELETE', '/p/ann', null],
      ['DELETE', '/p/b%2Fo%3Fb', null],
    ]);
  });

  it.each([
    [{ kind: 'json', status: 404, value: {} } as const, 'it answered with status 404'],
    [{ kind: 'json', status: 302, value: {} } as const, 'it answered with status 302'],
    [{ kind: 'reset' } as const, 'it does not answer'],
  ])('fails where the service does not do it (%j)', async (answer, problem) => {
    service.answer(answer);
    const forgetting = forget({ url: service.origin, body: ['{username_keys}'] }, ['ann']);
    await expect(forgetting).rejects.toMatchObject({
      problem: 'failed',
      message: expect.stringContaining(`may still have their data: ${problem}. Run the same again.`),
    });
    expect(service.requests).toHaveLength(1);
  });
});
