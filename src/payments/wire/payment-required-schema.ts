/** Converts x402's own schema, which is one of zod 3: the converter of zod 4 does not read it. */
export const loadPaymentRequiredSchema = async (): Promise<object> => {
  const { zodToJsonSchema } = await import('zod-to-json-schema');
  const schemas: Record<string, unknown> = await import('@x402/core/schemas');
  // Typed as unknown, because the schema's full type is too large for the compiler.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const schema = schemas['PaymentRequiredV2Schema'] as Parameters<typeof zodToJsonSchema>[0];
  const { $schema: _dialect, ...converted } = zodToJsonSchema(schema, { target: 'jsonSchema2019-09' });
  return converted;
};
