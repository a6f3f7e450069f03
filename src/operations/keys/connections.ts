import { z } from 'zod';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import { AppError } from '../../kit/errors.ts';
import { formatUsd } from '../../kit/money.ts';
import type { Connection } from '../../store/store.ts';
import { historyOperation } from '../account/history-page.ts';
import { jsonAnswer } from '../answer.ts';
import { time, usd } from '../answer-fields.ts';
import type { ReadOperation } from '../definition.ts';
import { idField } from '../id-field.ts';
import { assertMakesKeys } from './key-answer.ts';

const members = {
  id: z.string(),
  object: z.literal('connection'),
  client: z.string().describe('The host of the assistant; what it calls itself, where it has none.'),
  client_name: z.string().describe('What the assistant calls itself.'),
  redirect: z.string().describe('The host to which the person returned, or the scheme of an app.'),
  scopes: z.array(z.string()),
  key_id: z
    .string()
    .describe('The key that made it. The connection ends with this key, and counts in its budgets.'),
  created_at: time,
  revoked_at: time.nullable(),
  budget_day_usd: usd.nullable(),
  day_spent_usd: usd,
  day_held_usd: usd.describe('Held for running jobs.'),
};
const schema = z.looseObject(members);

const toAnswer = (connection: Connection): z.output<z.ZodObject<typeof members>> => ({
  id: connection.id,
  object: 'connection',
  client: connection.label,
  client_name: connection.client.name,
  redirect: connection.client.redirect,
  scopes: connection.scopes,
  key_id: connection.parentId,
  created_at: toIso(connection.createdAt),
  revoked_at: isoOrNull(connection.revokedAt),
  budget_day_usd: connection.budgetDay === null ? null : formatUsd(connection.budgetDay),
  day_spent_usd: formatUsd(connection.daySpent),
  day_held_usd: formatUsd(connection.dayHeld),
});

const example = {
  id: '019ab1c2-5f60-7182-9cad-2e3f4a5b6c7d',
  object: 'connection' as const,
  client: 'claude.ai',
  client_name: 'Claude',
  redirect: 'claude.ai',
  scopes: ['read', 'generate'],
  key_id: '019ab1c2-3d4e-7f60-8a9b-0c1d2e3f4a5b',
  created_at: '2026-11-20T09:30:00.000Z',
  revoked_at: null,
  budget_day_usd: '5.00',
  day_spent_usd: '1.25',
  day_held_usd: '0.02',
};

export const listConnections = historyOperation({
  name: 'list_connections',
  title: 'List connections',
  description:
    'The assistants that are connected to this account by OAuth, with what they may do and spend, newest first. Not with a ' +
    'key that has limits. Free.',
  path: '/v1/connections',
  view: { schema, example, show: toAnswer },
  answer: 'ConnectionPage',
  example: { summary: 'The newest connections', limit: 50 },
  errors: ['permission_denied'],
  // An assistant must not manage connections.
  tool: null,
  read: async (position, { caller }, { store, clock }) => {
    assertMakesKeys(caller);
    return store.listConnections({ ...position, now: clock.now() });
  },
});

const noSuchConnection = 'connection_id: this account has no such connection. See GET /v1/connections.';
const endedSchema = z.looseObject({
  id: z.string(),
  object: z.literal('connection'),
  revoked: z.literal(true),
});
const input = z.object({ connection_id: idField.describe('The id of the connection.') });

export const endConnection: ReadOperation<z.output<typeof input>> = {
  name: 'end_connection',
  title: 'End a connection',
  description:
    'Ends the connection of an assistant at once; jobs that it began go on. Not with a key that has limits. Free.',
  group: 'generation',
  sale: {
    kind: 'free',
    handle: async ({ connection_id: id }, { caller }, { store, clock }) => {
      assertMakesKeys(caller);
      const { accountId } = caller;
      if (!(await store.endConnection({ id: id.toLowerCase(), accountId, now: clock.now() })))
        throw new AppError('not_found', noSuchConnection, { param: 'connection_id' });
      return jsonAnswer({ id, object: 'connection', revoked: true });
    },
  },
  input,
  output: endedSchema,
  rest: {
    method: 'DELETE',
    path: '/v1/connections/{connection_id}',
    query: [],
    validation: 'envelope',
    errors: ['not_found', 'permission_denied'],
  },
  tool: null,
  docs: {
    answer: 'EndedConnection',
    description: null,
    examples: [
      {
        summary: 'An ended connection',
        parameters: { connection_id: example.id },
        status: 200,
        answer: { id: example.id, object: 'connection', revoked: true },
      },
    ],
    wrong: { connection_id: 'x'.repeat(301) },
    headers: {},
    mayBeSandbox: false,
    errors: {
      not_found: {
        when: 'The account has no such connection.',
        message: noSuchConnection,
        param: 'connection_id',
      },
    },
  },
};
