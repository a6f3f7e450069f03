/** Why an input cannot be read on: one sentence that names the file, the line where there is one, and what to do. */
export class LeadInputError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LeadInputError';
  }
}
