import { z } from 'zod';
import { callerKind, callerKinds, scopes } from '../../accounts/authenticate.ts';
import { accountLimits } from '../../accounts/catalog/catalog.ts';
import { privateAnswer } from '../answer.ts';
import type { Services } from '../call.ts';
import { readOperation } from '../define-operation.ts';
import { keySchema, keyView, seesAllKeys } from '../keys/key-answer.ts';

export const whoami = readOperation({
  name: 'whoami',
  title: 'Read who calls',
  description:
    'The account and the key of this call: what the key may buy, its budgets and what is spent of them, its expiry, and ' +
    'the limits of the account. Free.',
  input: z.object({}),
  output: z.looseObject({
    account_id: z.string(),
    kind: z
      .enum(callerKinds)
      .describe('What the key is: issued or made, from a sign-in, or of an assistant.'),
    scopes: z.array(z.enum(scopes)).nullable().describe('What an assistant was allowed. Null: everything.'),
    sandbox: z.boolean().describe('Whether the balance is sandbox credit.'),
    requests_per_minute: z.int().describe('The calls that the account may make in a minute.'),
    active_videos: z.int().describe('The videos of the account that may be queued or running.'),
    key: keySchema,
  }),
  path: '/v1/whoami',
  // A tool list has no room for it: `get_balance` tells an assistant who it is.
  tool: null,
  docs: {
    answer: 'Whoami',
    examples: [
      {
        summary: 'A key with limits',
        answer: {
          account_id: '019ab0aa-0b1c-7d2e-8f30-4a5b6c7d8e9f',
          kind: 'api_key',
          scopes: null,
          sandbox: false,
          requests_per_minute: 600,
          active_videos: 5,
          key: keyView.example,
        },
      },
    ],
  },
  handle: async (_input, { caller }, services: Pick<Services, 'store' | 'clock' | 'catalogs' | 'config'>) => {
    const { accountId, keyId } = caller;
    const keys = await services.store.listCountedKeys({ keyId, time: services.clock.now() });
    const key = keys.find(({ id }) => id === keyId);
    if (key === undefined) throw new Error(`the key ${keyId} of a caller is not in the store`);
    const { requestsPerMinute, activeVideos } = accountLimits(caller, services);
    return privateAnswer({
      account_id: accountId,
      kind: callerKind(caller),
      scopes: caller.scopes ? [...caller.scopes] : null,
      sandbox: caller.isSandbox,
      requests_per_minute: requestsPerMinute,
      active_videos: activeVideos,
      // Whoever has a key with limits may be a third party.
      key: { ...keyView.show(key), ...(seesAllKeys(caller) ? {} : { alert_url: null }) },
    });
  },
});
