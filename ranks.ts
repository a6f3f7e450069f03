/**
 * The folders of src, from the lowest rank to the highest. A file imports only from lower ranks or its own folder, and
 * calls no higher one while a call runs but for a closed list (ARCHITECTURE.md).
 */
export const ranks: readonly (readonly string[])[] = [
  ['kit'],
  ['http', 'rules'],
  ['providers', 'store', 'limits'],
  ['payments', 'accounts', 'jobs', 'media', 'leads', 'mounts'],
  ['operations'],
  ['mcp', 'rest', 'telemetry'],
  ['config'],
  ['operator'],
  ['gateway', 'cli'],
];
