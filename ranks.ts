/**
 * The folders of src, from the lowest rank to the highest. A file imports only from lower ranks or its own folder, and
 * calls no higher one while a call runs but for a closed list (ARCHITECTURE.md).
 */
export const ranks: readonly (readonly string[])[] = [
  ['kit'],
  ['http'],
  ['payments', 'providers', 'store', 'limits', 'cache'],
  ['purchases', 'jobs', 'webhooks', 'media', 'ledger', 'accounts', 'catalog', 'leads'],
  ['operations'],
  ['mcp', 'rest', 'auth', 'telemetry'],
  ['config'],
  ['operator'],
];
