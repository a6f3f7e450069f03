import { z } from 'zod';
import { isoOrNull, toIso } from '../../kit/clock.ts';
import { AppError } from '../../kit/errors.ts';
import { formatUsd } from '../../kit/money.ts';
import type { Connection, Store } from '../../store/store.ts';
import { refuseInput } from '../../media/stream-input.ts';
import type { Services } from '../call.ts';
import { historyOperation } from '../account/history-page.ts';
import { jsonAnswer } from '../answer.ts';
import { time, usd } from '../answer-fields.ts';
import type { ReadOperation, RestBinding } from '../definition.ts';
import { idField } from '../id-field.ts';
import { assertMakesKeys, usdOrNull } from './key-answer.ts';
import { limitFields } from './key-fields.ts';

export const connectionMembers = {
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
  budget_total_usd: usd.nullable(),
  total_spent_usd: usd,
  total_held_usd: usd,
};
const schema = z.looseObject(connectionMembers);

/** A connection as its account and operators see it. */
type ConnectionAnswer = z.output<z.ZodObject<typeof connectionMembers>>;

export const toConnectionAnswer = (connection: Connection): ConnectionAnswer => ({
  id: connection.id,
  object: 'connection',
  client: connection.label,
  client_name: connection.client.name,
  redirect: connection.client.redirect,
  scopes: connection.scopes,
  key_id: connection.parentId,
  created_at: toIso(connection.createdAt),
  revoked_at: isoOrNull(connection.revokedAt),
  budget_day_usd: usdOrNull(connection.budgetDay),
  day_spent_usd: formatUsd(connection.daySpent),
  day_held_usd: formatUsd(connection.dayHeld),
  budget_total_usd: usdOrNull(connection.budgetTotal),
  total_spent_usd: formatUsd(connection.totalSpent),
  total_held_usd: formatUsd(connection.totalHeld),
});

export const exampleConnection: ConnectionAnswer = {
  id: '019ab1c2-5f60-7182-9cad-2e3f4a5b6c7d',
  object: 'connection',
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
  budget_total_usd: '50.00',
  total_spent_usd: '7.90',
  total_held_usd: '0.02',
};

export const listConnections = historyOperation({
  name: 'list_connections',
  title: 'List connections',
  description:
    'The assistants that are connected to this account by OAuth, with what they may do and spend, newest first. Not with a ' +
    'key that has limits. Free.',
  path: '/v1/connections',
  view: { schema, example: exampleConnection, show: toConnectionAnswer },
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

export const connectionIdField = idField.max(128).describe('The id of a connection.');

/** The limits of a connection, of which it keeps at least one. */
export const connectionLimits = {
  budget_day_usd: limitFields.budget_day_usd,
  budget_total_usd: limitFields.budget_total_usd,
};
type WrittenLimits = z.output<z.ZodObject<typeof connectionLimits>>;

/** Changes the limits that are given. False: there is no such connection, or it has ended. Throws AppError 422. */
export const limitConnection = async (
  store: Pick<Store, 'changeConnection'>,
  connection: { id: string; accountId?: string },
  { budget_day_usd: budgetDay, budget_total_usd: budgetTotal }: WrittenLimits,
): Promise<boolean> => {
  const outcome = await store.changeConnection({ ...connection, budgetDay, budgetTotal });
  if (outcome === 'unlimited')
    throw refuseInput('budget_total_usd', 'a connection needs a limit by day or in all: set one of them');
  return outcome === 'changed';
};

const noSuchConnection =
  'connection_id: this account has no such connection, or it has ended. See GET /v1/connections.';

interface Parts<Input> extends Pick<ReadOperation, 'name' | 'title' | 'description'> {
  input: z.ZodType<Input>;
  rest: Pick<RestBinding, 'method' | 'isStrict'>;
  example: Pick<ReadOperation['docs']['examples'][0], 'summary' | 'body' | 'answer'>;
  wrong: ReadOperation['docs']['wrong'];
  /** Returns false if there is no such connection. */
  change(
    own: { id: string; accountId: string },
    input: Input,
    services: Pick<Services, 'store' | 'clock'>,
  ): Promise<boolean>;
}

/** Makes an operation that changes a connection of the account, and answers it as it is then. It is no tool. */
const ownConnectionOperation = <Input extends { connection_id: string }>({
  rest,
  example,
  wrong,
  change,
  ...parts
}: Parts<Input>): ReadOperation<Input> => ({
  ...parts,
  group: 'generation',
  sale: {
    kind: 'free',
    handle: async (input, { caller }, services) => {
      assertMakesKeys(caller);
      const own = { id: input.connection_id.toLowerCase(), accountId: caller.accountId };
      const isChanged = await change(own, input, services);
      const connection = await services.store.getConnection({ ...own, now: services.clock.now() });
      if (!isChanged || connection === null)
        throw new AppError('not_found', noSuchConnection, { param: 'connection_id' });
      return jsonAnswer(toConnectionAnswer(connection));
    },
  },
  output: schema,
  rest: {
    path: '/v1/connections/{connection_id}',
    query: [],
    validation: 'envelope',
    ...rest,
    errors: ['not_found', 'permission_denied'],
  },
  tool: null,
  docs: {
    answer: 'Connection',
    description: null,
    headers: {},
    mayBeSandbox: false,
    examples: [{ parameters: { connection_id: exampleConnection.id }, status: 200, ...example }],
    wrong,
    errors: {
      not_found: {
        when: 'The account has no such connection, or it has ended.',
        message: noSuchConnection,
        param: 'connection_id',
      },
    },
  },
});

export const updateConnection = ownConnectionOperation({
  name: 'update_connection',
  title: 'Change the limits of a connection',
  description:
    'Changes what an assistant may spend, from its next call on: fields that are left out stay, and null removes a ' +
    'limit. One of them has to stay. Not with a key that has limits. Free.',
  // A misspelt limit must not be ignored.
  input: z.strictObject({ connection_id: connectionIdField, ...connectionLimits }),
  rest: { method: 'POST', isStrict: true },
  example: {
    summary: 'Another limit in all',
    body: { budget_total_usd: '80.00' },
    answer: { ...exampleConnection, budget_total_usd: '80.00' },
  },
  wrong: { connection_id: exampleConnection.id, budget_day_usd: '-5' },
  change: (own, input, { store }) => limitConnection(store, own, input),
});

export const endConnection = ownConnectionOperation({
  name: 'end_connection',
  title: 'End a connection',
  description:
    'Ends the connection of an assistant at once; jobs that it began go on. Not with a key that has limits. Free.',
  input: z.object({ connection_id: connectionIdField }),
  rest: { method: 'DELETE' },
  example: {
    summary: 'An ended connection',
    answer: { ...exampleConnection, revoked_at: '2026-11-20T10:00:00.000Z' },
  },
  wrong: { connection_id: 'x'.repeat(129) },
  change: (own, _input, { store, clock }) => store.endConnection({ ...own, now: clock.now() }),
});
