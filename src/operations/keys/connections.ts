import { z } from 'zod';
import { wrongField } from '../../kit/errors.ts';
import type { JsonObject } from '../../kit/json.ts';
import type { Connection } from '../../store/store.ts';
import { refuseInput } from '../../media/stream-input.ts';
import type { Services } from '../call.ts';
import { historyOperation } from '../account/history-page.ts';
import { jsonAnswer } from '../answer.ts';
import { timeOf, timeOrNullOf, usdOf, usdOrNullOf } from '../answer-fields.ts';
import type { ReadOperation } from '../definition.ts';
import { type DocsExamples, readOperation, type ReadParts } from '../define-operation.ts';
import { idField } from '../id-field.ts';
import { defineView, extensible } from '../view.ts';
import { assertMakesKeys, assertManagesKeys } from './key-answer.ts';
import { askAboveField, limitFields } from './key-fields.ts';

/** A connection as its account and operators see it. */
export const connectionView = defineView<Connection>({
  client: 'The host of the assistant; what it calls itself, where it has none.',
  client_name: 'What the assistant calls itself.',
  redirect: 'The host to which the person returned, or the scheme of an app.',
  key_id: 'The key that made it. The connection ends with this key, and counts in its budgets.',
  revoked_at: 'When it ended, or the key that made it.',
  day_held_usd: 'Held for running jobs.',
  servers: 'The mounted servers whose tools it may call.',
  ask_above_usd: 'A call that may cost more waits until the person confirms it. Null: no call does.',
})({
  id: [z.string(), 'id', '019ab1c2-5f60-7182-9cad-2e3f4a5b6c7d'],
  object: [z.literal('connection'), () => 'connection' as const, 'connection'],
  client: [z.string(), 'label', 'claude.ai'],
  client_name: [z.string(), ({ client }) => client.name, 'Claude'],
  redirect: [z.string(), ({ client }) => client.redirect, 'claude.ai'],
  scopes: [z.array(z.string()), 'scopes', ['read', 'generate']],
  servers: [z.array(z.string()), 'servers', []],
  key_id: [z.string(), 'parentId', '019ab1c2-3d4e-7f60-8a9b-0c1d2e3f4a5b'],
  created_at: timeOf('createdAt', '2026-11-20T09:30:00.000Z'),
  revoked_at: timeOrNullOf('endedAt', null),
  last_used_at: timeOrNullOf('lastUsedAt', '2026-11-20T17:45:00.000Z'),
  budget_day_usd: usdOrNullOf('budgetDay', '5.00'),
  day_spent_usd: usdOf('daySpent', '1.25'),
  day_held_usd: usdOf('dayHeld', '0.02'),
  budget_total_usd: usdOrNullOf('budgetTotal', '50.00'),
  total_spent_usd: usdOf('totalSpent', '7.90'),
  total_held_usd: usdOf('totalHeld', '0.02'),
  ask_above_usd: usdOrNullOf('askAbove', '1.00'),
});
const view = extensible<Connection, unknown>({
  ...connectionView,
  show: (connection) => connectionView.show(connection),
});
const { example } = connectionView;

export const listConnections = historyOperation({
  name: 'list_connections',
  title: 'List connections',
  description:
    'The assistants that are connected to this account by OAuth, with what they may do and spend, newest first. Not with a ' +
    'key that has limits. Free.',
  path: '/v1/connections',
  view,
  answer: 'ConnectionPage',
  example: { summary: 'The newest connections', limit: 50 },
  errors: ['permission_denied'],
  // An assistant must not manage connections.
  tool: null,
  read: async (position, { caller }, { store, clock }) => {
    assertManagesKeys(caller);
    return store.listConnections({ ...position, now: clock.now() });
  },
});

export const connectionIdField = idField.max(128).describe('The id of a connection.');

/** The limits of a connection. It keeps at least one of both budgets. */
export const connectionLimits = {
  budget_day_usd: limitFields.budget_day_usd,
  budget_total_usd: limitFields.budget_total_usd,
  ask_above_usd: askAboveField,
};
type WrittenLimits = z.output<z.ZodObject<typeof connectionLimits>>;

/** Changes the limits that are given. False: there is no such connection, or it has ended. Throws AppError 422. */
export const limitConnection = async (
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  connection: { id: string; accountId?: string },
  { budget_day_usd: budgetDay, budget_total_usd: budgetTotal, ask_above_usd: askAbove }: WrittenLimits,
): Promise<boolean> => {
  const limits = { budgetDay, budgetTotal, askAbove };
  const outcome = await store.changeConnection({ ...connection, ...limits, now: clock.now() });
  if (outcome === 'unlimited')
    throw refuseInput('budget_total_usd', 'a connection needs a limit by day or in all: set one of them');
  return outcome === 'changed';
};

const noSuchConnection =
  'connection_id: this account has no such connection, or it has ended. See GET /v1/connections.';

interface Parts<Input> extends Pick<
  ReadParts<Input, Services>,
  'name' | 'title' | 'description' | 'input' | 'method' | 'isStrict'
> {
  example: Omit<DocsExamples[0], 'answer'>;
  /** What the answer of the example has beside that of the view. */
  changed: JsonObject;
  wrong: JsonObject;
  /** Returns false if there is no such connection. */
  change(
    own: { id: string; accountId: string },
    input: Input,
    services: Pick<Services, 'store' | 'clock'>,
  ): Promise<boolean>;
}

/** Makes an operation that changes a connection of the account, and answers it as it is then. It is no tool. */
const ownConnectionOperation = <Input extends { connection_id: string }>({
  example: written,
  changed,
  wrong,
  change,
  ...parts
}: Parts<Input>): ReadOperation<Input> => {
  const when = 'The account has no such connection, or it has ended.';
  return readOperation<Input>({
    ...parts,
    output: view.schema,
    path: '/v1/connections/{connection_id}',
    errors: ['not_found', 'permission_denied'],
    tool: null,
    docs: {
      answer: 'Connection',
      examples: [
        { parameters: { connection_id: example.id }, ...written, answer: { ...example, ...changed } },
      ],
      wrong,
      errors: { not_found: { when, message: noSuchConnection, param: 'connection_id' } },
    },
    handle: async (input, { caller }, services) => {
      // A limit that was raised would outlive a sign-in.
      (parts.method === 'POST' ? assertMakesKeys : assertManagesKeys)(caller);
      const own = { id: input.connection_id.toLowerCase(), accountId: caller.accountId };
      const isChanged = await change(own, input, services);
      const connection = await services.store.getConnection({ ...own, now: services.clock.now() });
      if (!isChanged || connection === null) throw wrongField('not_found', 'connection_id', noSuchConnection);
      return jsonAnswer(connectionView.show(connection));
    },
  });
};

export const updateConnection = ownConnectionOperation({
  name: 'update_connection',
  title: 'Change the limits of a connection',
  description:
    'Changes what an assistant may spend, from its next call on: fields that are left out stay, and null removes a ' +
    'limit. One of both budgets has to stay. Not with a key that has limits. Free.',
  // A misspelt limit must not be ignored.
  input: z.strictObject({ connection_id: connectionIdField, ...connectionLimits }),
  method: 'POST',
  isStrict: true,
  example: { summary: 'Another limit in all', body: { budget_total_usd: '80.00' } },
  changed: { budget_total_usd: '80.00' },
  wrong: { connection_id: example.id, budget_day_usd: '-5' },
  change: (own, input, services) => limitConnection(services, own, input),
});

export const endConnection = ownConnectionOperation({
  name: 'end_connection',
  title: 'End a connection',
  description:
    'Ends the connection of an assistant at once; jobs that it began go on. Not with a key that has limits. Free.',
  input: z.object({ connection_id: connectionIdField }),
  method: 'DELETE',
  example: { summary: 'An ended connection' },
  changed: { revoked_at: '2026-11-20T10:00:00.000Z' },
  wrong: { connection_id: 'x'.repeat(129) },
  change: (own, _input, { store, clock }) => store.endConnection({ ...own, now: clock.now() }),
});
