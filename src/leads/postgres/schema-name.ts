/** The schema unless a test wants another. */
export const leadsSchema = 'causeway_leads';

const schemaPattern = /^[a-z_][a-z0-9_]{0,39}$/;

/** Throws RangeError for a name that cannot be used in SQL as it stands. */
export const checkSchemaName = (schema: string): void => {
  if (!schemaPattern.test(schema)) throw new RangeError(`${schema} cannot be the name of a schema`);
};
