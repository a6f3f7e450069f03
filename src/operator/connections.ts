import { z } from 'zod';
import { wrongField } from '../kit/errors.ts';
import {
  connectionIdField,
  connectionLimits,
  connectionView,
  limitConnection as limit,
} from '../operations/keys/connections.ts';
import type { Connection } from '../store/store.ts';
import { exampleAccountId, accountIdField, limitField } from './fields.ts';
import { budgetCell } from './keys.ts';
import { readVerb, writeVerb, type OperatorServices, requireFound } from './verb.ts';
import { defineView, toPage } from '../operations/view.ts';

const view = defineView<Connection>()({
  account_id: [z.string(), 'accountId', exampleAccountId],
  ...connectionView.members,
});
const { schema, example } = view;

type ConnectionView = z.output<typeof schema>;

/** Reads a connection as it is now. Throws AppError `connection_not_found`. */
const findView = async (id: string, { store, clock }: OperatorServices): Promise<ConnectionView> =>
  view.show(requireFound(await store.getConnection({ id, now: clock.now() }), 'connection', id));

/** Only a host is no invention of the assistant. */
const nameOf = ({ client, client_name: name }: ConnectionView): string =>
  name === client ? `a program that calls itself ${name}` : client;

const table = {
  columns:
    'id=CONNECTION_ID client created_at revoked_at day=USD_TODAY total=USD_IN_ALL ask_above_usd=ASK_ABOVE allowed=SCOPES servers key_id=BY_KEY',
  row: (connection: ConnectionView) => ({
    client: nameOf(connection),
    day: budgetCell(connection.day_spent_usd, connection.budget_day_usd),
    total: budgetCell(connection.total_spent_usd, connection.budget_total_usd),
    allowed: connection.scopes.join(','),
    servers: connection.servers.join(','),
  }),
};

export const listConnections = readVerb({
  name: 'list_connections',
  title: 'List the connections of an account',
  description: 'The newest connections of assistants to an account with their limits and use, newest first.',
  path: '/accounts/{account_id}/connections',
  fields: { account_id: accountIdField, limit: limitField(10_000, 1_000) },
  output: z.strictObject({ connections: z.array(schema), has_more: z.boolean() }),
  answer: 'ConnectionList',
  example: { account_id: exampleAccountId },
  errors: ['account_not_found'],
  command: {
    usage: 'connections list <account> [--limit <count>]',
    table: { ...table, none: 'The account has no connections.' },
  },
  handle: async ({ account_id: accountId, limit: count }, { store, clock }) => {
    requireFound(await store.getAccount(accountId), 'account', accountId);
    const position = { accountId, limit: count + 1, before: null, now: clock.now() };
    return toPage('connections', await store.listConnections(position), { limit: count, show: view.show });
  },
});

const changed = z.strictObject({ connection: schema });

export const limitConnection = writeVerb({
  name: 'limit_connection',
  title: 'Change the limits of a connection',
  description:
    'Changes what an assistant may spend, from its next call on: fields that are left out stay, and null removes a ' +
    'limit. One of both budgets has to stay.',
  path: '/connections/{connection_id}',
  fields: { connection_id: connectionIdField, ...connectionLimits },
  output: changed,
  answer: 'ChangedConnection',
  example: { connection_id: example.id, budget_day_usd: '5.00' },
  errors: ['connection_not_found', 'invalid_value'],
  command: {
    usage: 'connections limit <connection> [--budget-day <usd>] [--budget-total <usd>] [--ask-above <usd>]',
    examples: [`${example.id} --budget-day none --budget-total 80`],
    table,
  },
  handle: async ({ connection_id: id, ...limits }, services) => {
    await findView(id, services);
    if (!(await limit(services, { id }, limits)))
      throw wrongField('invalid_value', 'connection_id', 'The connection has ended.');
    return { connection: await findView(id, services) };
  },
});

export const revokeConnection = writeVerb({
  name: 'revoke_connection',
  title: 'Revoke a connection',
  description:
    'Ends the connection of an assistant for good, from its next call on; jobs that it began go on.',
  path: '/connections/{connection_id}/revoke',
  fields: { connection_id: connectionIdField },
  output: changed,
  answer: 'ChangedConnection',
  example: { connection_id: example.id },
  exampleAnswer: { connection: { ...example, revoked_at: '2026-11-20T10:00:00.000Z' } },
  errors: ['connection_not_found'],
  command: {
    usage: 'connections revoke <connection>',
    more: 'This cannot be undone.',
    show: ({ connection }) =>
      `${nameOf(connection)} (${connection.id}) is revoked since ${connection.revoked_at ?? 'now'}.`,
  },
  handle: async ({ connection_id: id }, services) => {
    const { store, clock } = services;
    requireFound((await store.endConnection({ id, now: clock.now() })) || null, 'connection', id);
    return { connection: await findView(id, services) };
  },
});
