/** Writes a decimal of the gateway as money, with every digit that it has. */
export const money = (usd: string | null | undefined): string => {
  if (usd === null || usd === undefined) return '–';
  return usd.startsWith('-') ? `−$${usd.slice(1)}` : `$${usd}`;
};

const moment = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

export const atMoment = (iso: string | null): string => (iso === null ? '–' : moment.format(new Date(iso)));

export const duration = (ms: number | null): string => {
  if (ms === null) return '–';
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
};

/** The end of an id, which tells rows apart: ids begin with the time. */
export const shortId = (id: string): string => (id.length > 8 ? `…${id.slice(-8)}` : id);

const dayMs = 86_400_000;

/** The day in UTC, such as 2026-11-28, so many days before today. */
export const dayBefore = (days: number): string =>
  new Date(Date.now() - days * dayMs).toISOString().slice(0, 10);

/** The day after one, in the same form. A text that is no day is left to the gateway, which says so. */
export const nextDay = (day: string): string => {
  const at = Date.parse(`${day}T00:00:00Z`);
  return Number.isNaN(at) ? day : new Date(at + dayMs).toISOString().slice(0, 10);
};

/** A field name of the gateway as words. A payment has an id beside its identity. */
export const toWords = (name: string): string => {
  const words = name.replace(/_(?:usd|at|ms|(?<!payment_)id)$/, '').replaceAll('_', ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** Writes a value of an answer whose members are not known, by the name of its field. */
export const toText = (name: string, value: unknown): string => {
  if (value === null || value === undefined) return '–';
  if (Array.isArray(value)) return value.map((one) => toText(name, one)).join(', ') || 'none';
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([part, own]) => `${toWords(part).toLowerCase()} ${toText(part, own)}`)
      .join(', ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return name.endsWith('_ms') ? duration(value) : value.toLocaleString();
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (name.endsWith('_usd')) return money(text);
  return /_(?:at|until)$/.test(name) ? atMoment(text) : text;
};
