/** An input cannot be read further. The message is one sentence with the file, the line if known, and what to do. */
export class LeadInputError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LeadInputError';
  }
}
