import type { ComponentChildren } from 'preact';
import type { JobRow, Key, Transaction } from '../answers.ts';
import { duration, money, nextDay, shortId, toText, toWords } from '../format.ts';
import { Link, usePlace } from '../router.tsx';
import { Filters } from './filters.tsx';
import { Choice, Field, Moment, State, type Fact } from './parts.tsx';
import type { Column } from './table.tsx';

/** `area`: empty for customers, `operator/` for operators. */
export const JobLink = ({ id, area = '' }: { id: string; area?: string }) => (
  <Link path={`${area}jobs/${id}`}>
    <code>{shortId(id)}</code>
  </Link>
);

export const AccountLink = ({ id }: { id: string }) => (
  <Link path={`operator/accounts/${id}`}>
    <code>{shortId(id)}</code>
  </Link>
);

/** Shows a member of an answer to operators. */
export const toFact = ([name, value]: [string, unknown]): Fact => {
  if (name === 'account_id' && typeof value === 'string')
    return ['Account', <AccountLink key={name} id={value} />];
  if (name === 'payment' && typeof value === 'string')
    return [
      'Payment',
      <Link key={name} path={`operator/payments/${encodeURIComponent(value)}`}>
        {value}
      </Link>,
    ];
  if (name === 'job_id' && typeof value === 'string')
    return ['Job', <JobLink key={name} id={value} area="operator/" />];
  if ((name === 'status' || name === 'state') && typeof value === 'string')
    return [toWords(name), <State key={name} name={value} />];
  return [toWords(name), toText(name, value)];
};

export const jobColumns = (area: '' | 'operator/'): Column<JobRow>[] => [
  { title: 'Job', cell: ({ id }) => <JobLink id={id} area={area} /> },
  { title: 'Created', cell: ({ created_at: at }) => <Moment at={at} />, isWide: true },
  ...(area === ''
    ? []
    : [
        {
          title: 'Account',
          cell: ({ account_id: id }: JobRow) => (id === undefined ? null : <AccountLink id={id} />),
          isWide: true,
        },
      ]),
  { title: 'Kind', cell: ({ kind }) => kind, isWide: true },
  { title: 'Model', cell: ({ model }) => model },
  { title: 'State', cell: ({ status }) => <State name={status} /> },
  { title: 'Error', cell: ({ error }) => error?.code ?? '', isWide: true },
  { title: 'Took', cell: ({ duration_ms: ms }) => duration(ms), isNumber: true, isWide: true },
  { title: 'Cost', cell: ({ net_spent_usd: cost }) => money(cost), isNumber: true },
];

const kinds = ['', 'chat', 'responses', 'image', 'video', 'search', 'tool'];
const states = ['', 'queued', 'running', 'done', 'failed'];
const filterNames = ['account_id', 'kind', 'status', 'model', 'key_id', 'tag', 'from', 'to'] as const;

const useGiven = () => {
  const { query } = usePlace();
  return Object.fromEntries(filterNames.map((name) => [name, query.get(name) ?? '']));
};

/** What jobs are looked for by, which the address has; its last day counts whole. */
export const useJobFilters = () => {
  const { to = '', ...given } = useGiven();
  return { ...given, to: to && nextDay(to) };
};

export const JobFilters = ({ area }: { area: '' | 'operator/' }) => {
  const given = useGiven();
  return (
    <Filters key={JSON.stringify(given)}>
      <Choice name="status" label="State" value={given['status']} options={states} />
      <Choice name="kind" label="Kind" value={given['kind']} options={kinds} />
      <Field name="model" label="Model" value={given['model']} />
      {area !== '' && <Field name="account_id" label="Account id" value={given['account_id']} />}
      <Field name="key_id" label="Key id" value={given['key_id']} />
      <Field name="tag" label="Tag" value={given['tag']} />
      <Field name="from" label="From (UTC)" type="date" value={given['from']} />
      <Field name="to" label="To (UTC)" type="date" value={given['to']} />
    </Filters>
  );
};

export const transactionColumns = (
  area: '' | 'operator/',
  receipt?: (row: Transaction) => ComponentChildren,
): Column<Transaction>[] => [
  { title: 'Time', cell: ({ created_at: at }) => <Moment at={at} /> },
  { title: 'Type', cell: ({ type }) => type },
  {
    title: 'Job',
    cell: ({ job_id: id }) => (id === null ? '' : <JobLink id={id} area={area} />),
    isWide: true,
  },
  {
    title: area === '' ? 'Model' : 'Model or reason',
    cell: ({ model, reason }) => model ?? reason ?? '',
    isWide: true,
  },
  { title: 'Amount', cell: ({ amount_usd: amount }) => money(amount), isNumber: true },
  ...(receipt === undefined ? [] : [{ title: 'Receipt', cell: receipt }]),
];

const spent = (used: string | null, budget: string | null): string =>
  budget === null ? (used === null ? '–' : money(used)) : `${money(used ?? '0.00')} of ${money(budget)}`;

const stateOf = ({ revoked_at: revoked, expires_at: expires }: Key): string => {
  if (revoked !== null) return 'revoked';
  return expires !== null && Date.parse(expires) <= Date.now() ? 'expired' : 'active';
};

export const keyColumns: Column<Key>[] = [
  {
    title: 'Key',
    cell: ({ label, display }) => <span title={display}>{label === '' ? display : label}</span>,
  },
  { title: 'Display', cell: ({ display }) => <code>{display}</code>, isWide: true },
  { title: 'State', cell: (key) => <State name={stateOf(key)} /> },
  {
    title: 'Today',
    cell: (key) => spent(key.day_spent_usd, key.budget_day_usd),
    isNumber: true,
    isWide: true,
  },
  {
    title: 'Month',
    cell: (key) => spent(key.month_spent_usd, key.budget_month_usd),
    isNumber: true,
    isWide: true,
  },
  { title: 'In all', cell: (key) => spent(key.total_spent_usd, key.budget_total_usd), isNumber: true },
  {
    title: 'May use',
    cell: ({ models, tools }) => [...(models ?? []), ...(tools ?? [])].join(', ') || 'everything',
    isWide: true,
  },
];
