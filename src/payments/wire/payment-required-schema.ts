/**
 * Loads the JSON Schema of the decoded `PAYMENT-REQUIRED` header from x402's own schema. That is a zod 3 schema, which
 * the converter of zod 4 does not read.
 */
export const loadPaymentRequiredSchema = async (): Promise<object> => {
  const { zodToJsonSchema } = await import('zod-to-json-schema');
  const schemas: Record<string, unknown> = await import('@x402/core/schemas');
  // Typed as unknown, because the schema's full type is too large for the compiler.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const schema = schemas['PaymentRequiredV2Schema'] as Parameters<typeof zodToJsonSchema>[0];
  const { $schema: _dialect, ...converted } = zodToJsonSchema(schema, { target: 'jsonSchema2019-09' });
  return converted;
};
